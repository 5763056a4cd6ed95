// Package broker is a server of NATS with JetStream that stores everything in one folder:
//
//	ca.pem, ca.key    the authority that signs the server's certificate, made once
//	users/NAME        the public key of a user
//	jetstream         stored messages
//	leases            the user of each leased ticket
//	proxy.nk          the key by which a nats-server knows the broker (--server)
//	lock              held by the running broker
//
// Clients connect to a filter, not to the server: filter.go reads each message, and rules.go has the rules of each
// role.
//
// Only the owner has access to the folder. Certificates of the server are made in memory, and renewed before they
// expire.
package broker
