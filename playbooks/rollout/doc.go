// Package rollout decides how a play proceeds through its hosts: the batches, the hosts that may begin now, and when to
// stop. It contacts no host and has no clock: events are passed to a [Conductor], whose answers depend only on these
// events.
//
// [Rules] are what is written (rules.go), [Plan] what they come to for hosts whose effects are
// predicted (plan.go), [Conductor] what becomes of it (conductor.go). Package rolling below runs it.
package rollout
