// Package usercert has an authority of the operator certify public keys of users for a short time.
//
// An [Authority] is a key in the operator's agent ([ByAgent]), or a command that signs ([ByCommand]). A [Request]
// describes the certificate; a certificate that allows anything else is an error, also from a trusted signer.
//
// The use of the keys is up to the caller. Package auth handles the keys with which the operator logs in.
package usercert
