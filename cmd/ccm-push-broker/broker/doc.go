// Package broker is a server of NATS with JetStream that lives in one folder:
//
//	ca.pem, ca.key    the authority that signs the server's certificate, made once
//	users/NAME        the public key of somebody who may log in
//	jetstream         what is stored
//	lock              held by the broker that runs
//
// The folder is for its owner alone. Certificates of the server are made in memory, and anew before
// they end.
package broker
