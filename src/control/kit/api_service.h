/*
 * api_service: Service, Endpoints and EndpointSlice default/kubernetes, which say where the API is, as clients and
 * Kubernetes' own tests expect. Made when absent, also when somebody deletes one; what they say of the address and the
 * port is put right, the rest is left alone.
 *
 * The Service has the first address of the range of Services, port 443, from where the router of the pods' network
 * carries connections to the API server's own port; without such an address it is headless.
 */
#ifndef BERTH_CONTROL_API_SERVICE_H
#define BERTH_CONTROL_API_SERVICE_H

extern const struct controller_row api_service_controller;

#endif
