// Package registry has what CCM tells others of a service: where it is found, for how long that holds,
// and under which subject NATS keeps it.
//
// Subjects, instances and headers are those of CCM (choria-io/ccm, packages model and registration), so
// that either finds what the other has registered.
package registry
