// Package manifest reads the manifests of DSC command resources: the operations of a resource, and the commands that
// run them.
//
// Three dialects have been published. Manifests of DSC 3 contain $schema; the alpha releases of 2023 used
// manifestVersion instead; the first design put everything below dscresource. All three become one [Manifest].
//
// Code that uses a host does not belong here: package dsc finds manifests and runs their commands.
package manifest
