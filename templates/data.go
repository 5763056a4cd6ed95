package templates

import (
	"github.com/ccm-push/ccm-push/templates/hiera"
	"github.com/ccm-push/ccm-push/templates/scope"
)

type (
	// Source is where data comes from: a map, files, and overrides by a hierarchy.
	Source = hiera.Source
	// Parts are what a source is read from.
	Parts = hiera.Parts
	// Layer is data of one origin, resolved for one host.
	Layer = hiera.Layer
	// Origin is where a value comes from.
	Origin = hiera.Origin
	// Taint says in what a host has had a say beside its facts.
	Taint = scope.Taint
	// Inputs are the parts of an environment that something can read.
	Inputs = scope.Inputs
)

// ParseSource reads the parts of a source. Expressions in them see facts only.
// The error is [yamlpos.Errors].
func ParseSource(parts Parts) (Source, error) { return hiera.Parse(parts, Parse) }

// DeepMerge lays over on top of base; see [hiera.DeepMerge].
func DeepMerge(base, over map[string]any) map[string]any { return hiera.DeepMerge(base, over) }

// Merge lays layers over each other, low to high. The map is fresh; what was not
// merged is shared with the layers.
func Merge(layers []Layer) map[string]any { return hiera.Merge(layers) }

// Stack makes one layer of several that belong together; see [hiera.Stack].
func Stack(name string, layers []Layer) Layer { return hiera.Stack(name, layers) }

// Origins tells who set the value at a path of [Merge]'s result; see
// [hiera.Origins].
func Origins(layers []Layer, path []string) []Origin { return hiera.Origins(layers, path) }
