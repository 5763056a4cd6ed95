// Package relays lets hosts that lack the host program get it from one host near them, to which it is sent once.
//
// Hosts with the same candidates are a site. The first candidate that works is the relay of the site. It is opened
// (package transport/relay) when the first host of the site lacks the program, so a run in which all hosts have it uses
// no relays. After any failure, the controller sends the program to the host itself, as without relays, and reports the
// failure once.
//
// The inventory names the candidates.
package relays
