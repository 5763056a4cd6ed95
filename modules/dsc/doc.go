// Package dsc manages instances of command resources of Microsoft's DSC v3: executables with a manifest, in the play's
// folder resources/ or on the host.
//
// This package does the work of DSC's engine: finding manifests in all three dialects, checking properties and states
// against schemas, testing for resources that cannot test by themselves, reading messages and exit codes. Programs are
// started with a list of arguments, never through a shell, in the folder of their manifest.
//
// The steps for an instance: prepare.go runs on the controller; on the host instance.go opens it with the resource
// found by find.go, check.go tests and plans, apply.go sets and verifies. resource.go has the resource of an instance;
// call.go and input.go build the input of its programs, state.go and messages.go parse their output.
//
// Configuration documents do not belong here: playbooks/dsc reads them. Code for any program that answers in JSON, not
// only for DSC, belongs in modules/process.
//
// https://learn.microsoft.com/powershell/dsc/reference/schemas/resource/manifest/root
package dsc
