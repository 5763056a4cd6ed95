// Package engine runs on a host: it takes catalogs through check, apply and
// verify, and serves the session with the controller.
//
// A check run sees the host as earlier plans would have left it: package forecast
// answers for what they would change, and notes when an answer depends on something
// that cannot be known beforehand.
//
// An applying run works on the entries in their order or, if the catalog says so, on
// several at once; see package schedule. Values that resources send to others go through the
// engine; see traffic.
package engine
