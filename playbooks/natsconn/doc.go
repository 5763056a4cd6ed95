// Package natsconn has the connection to NATS that a run shares: whatever asks for it first has it
// dialled, and a run that asks for nothing dials nothing.
//
// A [Config] says where the servers are and as whom to log in, by itself or by a context of the nats
// command line, as CCM has it. A [Link] dials when it is asked, once. No error, and nothing that is
// warned of, shows a password, a token or a seed.
//
// What is said over the connection does not belong here.
package natsconn
