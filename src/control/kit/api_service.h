/*
 * api_service: Service, Endpoints and EndpointSlice default/kubernetes, which say where the API is, as clients and
 * Kubernetes' own tests expect. Made when absent, also when somebody deletes one; what they say of the address and the
 * port is put right, the rest is left alone.
 *
 * There is no network of services here: the Service is headless, and its port is the API server's own.
 */
#ifndef BERTH_CONTROL_API_SERVICE_H
#define BERTH_CONTROL_API_SERVICE_H

extern const struct controller_row api_service_controller;

#endif
