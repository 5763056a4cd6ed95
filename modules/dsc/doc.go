// Package dsc keeps what a command resource of Microsoft's DSC v3 looks after: an
// executable with a manifest, in the play's folder resources/ or on the host.
//
// What DSC leaves to its engine is done here: finding manifests in all three
// dialects, holding properties and states against schemas, testing for resources that
// cannot test by themselves, reading messages and exit codes. Programs are started
// with a list of arguments, never through a shell, in the folder of their manifest.
//
// https://learn.microsoft.com/powershell/dsc/reference/schemas/resource/manifest/root
package dsc
