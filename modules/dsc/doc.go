// Package dsc keeps what a command resource of Microsoft's DSC v3 looks after: an
// executable with a manifest, in the play's folder resources/ or on the host.
//
// What DSC leaves to its engine is done here: finding manifests in all three
// dialects, holding properties and states against schemas, testing for resources that
// cannot test by themselves, reading messages and exit codes. Programs are started
// with a list of arguments, never through a shell, in the folder of their manifest.
//
// The way of an instance: prepare.go on the controller; on the host instance.go opens it
// with what find.go has found of the resource, check.go tests and plans, apply.go sets
// and verifies. resource.go is what the instance is of; what its programs are given is in
// call.go and input.go, what they print in state.go and messages.go.
//
// Configuration documents may not come in: playbooks/dsc reads them. What is not of DSC
// but of any program that answers in JSON belongs to modules/process.
//
// https://learn.microsoft.com/powershell/dsc/reference/schemas/resource/manifest/root
package dsc
