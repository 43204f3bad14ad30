/* csr_ttl: deletes CertificateSigningRequests: an hour after they were approved, denied or failed, a day after they
 * were made and nobody decided. What was issued is the asker's by then. */
#ifndef BERTH_CONTROL_CSR_TTL_H
#define BERTH_CONTROL_CSR_TTL_H

extern const struct controller_row csr_ttl_controller;

#endif
