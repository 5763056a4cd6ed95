// Package manifest reads what describes a DSC command resource: which operations
// it has, and how its executables are called for them.
//
// Three dialects have been published. That of DSC 3 carries $schema; the alpha
// releases of 2023 wrote manifestVersion in its place; the first design kept
// everything below dscresource. All three become one [Manifest].
//
// Nothing of a host may come in: finding manifests and running what they describe is
// for package dsc.
package manifest
