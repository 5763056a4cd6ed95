// Package registry has CCM's registrations of services: the address of a service, how long that is valid, and the
// subject under which NATS stores it.
//
// Subjects, instances and headers are the same as in CCM (choria-io/ccm, packages model and registration), so that each
// tool finds the registrations of the other.
package registry
