// Package wire is what controller and host program say to each other: a stream of JSON
// values, of which [Message] lists all. Begin there; a [Catalog] goes to the host, a
// [Result] for each of its entries comes back, and a [Conn] carries both. Both ends are
// one build, so there are no versions.
//
// What a resource is, package modules says, which knows nothing of messages. What is done
// with them is no part of this package: see modules/engine/session and playbooks/session.
package wire
