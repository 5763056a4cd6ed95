// Package apply is the resource type "apply": the resources of another manifest,
// which the controller puts into the catalog.
package apply
