// Package broker is a server of NATS with JetStream that lives in one folder:
//
//	ca.pem, ca.key    the authority that signs the server's certificate, made once
//	users/NAME        the public key of somebody who may log in
//	jetstream         what is stored
//	leases            the user of each leased ticket
//	proxy.nk          the key by which a nats-server knows the broker (--server)
//	lock              held by the broker that runs
//
// Clients connect to a filter, not to the server: filter.go reads each message, and rules.go has the rules of each role.
//
// The folder is for its owner alone. Certificates of the server are made in memory, and anew before
// they end.
package broker
