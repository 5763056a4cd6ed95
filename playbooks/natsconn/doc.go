// Package natsconn has the connection to NATS that a run shares: it is dialled at its first use, and a run that does
// not need it does not dial.
//
// A [Config] has the addresses of the servers and the login, or names a context of the nats command line, as in CCM. A
// [Link] dials at its first use, once. No error and no warning shows a password, a token or a seed.
//
// Other packages use the connection.
package natsconn
