// Package rollout decides how a play proceeds through its hosts: the batches, the hosts that may begin now, and when to
// stop. It contacts no host and has no clock: events are passed to a [Conductor], whose answers depend only on these
// events.
//
// [Rules] are the written settings (rules.go), a [Plan] is their result for hosts with predicted changes (plan.go), and
// a [Conductor] follows the plan (conductor.go). Package rolling runs a rollout.
package rollout
