// Package rollout decides how a play comes over its hosts: which batches there are, who may begin
// now, and when it stops. It knows no host and no clock: what happens is told to a [Conductor],
// and what it says then is arithmetic on what it was told.
//
// [Rules] are what is written (rules.go), [Plan] what they come to for hosts whose effects are
// predicted (plan.go), [Conductor] what becomes of it (conductor.go).
package rollout
