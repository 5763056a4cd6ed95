// Package wire has the messages between controller and host program: a stream of JSON values, which [Message] lists.
// Begin there. The controller sends a [Catalog], the host answers with a [Result] for each of its entries, and a [Conn]
// carries both. Both ends are one build, so there are no versions.
//
// Package modules defines resources, and knows no messages. modules/engine/session and playbooks/session process the
// messages.
package wire
