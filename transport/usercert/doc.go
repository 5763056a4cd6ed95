// Package usercert has an authority of the operator certify public keys of users for a while.
//
// An [Authority] is a key in the operator's agent ([ByAgent]), or a command that signs ([ByCommand]).
// A [Request] says what the certificate is for; a certificate that allows anything else is an
// error, whoever has signed it.
//
// What keys are for, and who uses them, does not belong here; keys that the operator logs in with
// are those of package auth.
package usercert
