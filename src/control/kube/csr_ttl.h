/* csr_ttl: deletes CertificateSigningRequests an hour after they were approved, denied or failed, and undecided ones a
 * day after they were created. By then the requester has had time to fetch the certificate. */
#ifndef BERTH_CONTROL_CSR_TTL_H
#define BERTH_CONTROL_CSR_TTL_H

extern const struct controller_row csr_ttl_controller;

#endif
