// Package relays has hosts that lack the host program get it from one host near them, which is sent it once.
//
// Hosts with the same candidates are a site. The first of the candidates that can is the relay of the site;
// it is opened (package transport/relay) when the first host of the site lacks the program, so a run in which
// all have it knows nothing of relays. Whatever fails ends with a host being sent the program from here, as without relays,
// and is told once.
//
// Which hosts are candidates is for the inventory to say.
package relays
