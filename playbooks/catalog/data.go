package catalog

import (
	"context"
	"slices"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/templates"
)

// dataSources are the sources of data of the manifests and of --hiera.
func (c *Compiler) dataSources() []templates.Source {
	sources := append([]templates.Source{c.root.play.Data}, c.root.play.Over...)
	if c.opts.Hiera != nil {
		sources = append(sources, *c.opts.Hiera)
	}
	return sources
}

// layers are the data of a host, low to high.
func (c *Compiler) layers(ctx context.Context, h Host) ([]templates.Layer, error) {
	layers, err := c.root.play.Data.Layers(ctx, h.Facts)
	if err != nil {
		return nil, err
	}
	for _, over := range c.root.play.Over {
		more, err := over.Layers(ctx, h.Facts)
		if err != nil {
			return nil, err
		}
		layers = append(layers, more...)
	}
	if c.opts.Hiera != nil {
		more, err := c.opts.Hiera.Layers(ctx, h.Facts)
		if err != nil {
			return nil, err
		}
		layers = append(layers, templates.Stack("--hiera", more))
	}
	if h.Layers != nil {
		layers = append(layers, h.Layers...)
	} else {
		layers = append(layers, templates.Layer{Name: "inventory", Values: h.Vars})
	}
	return slices.Concat(layers, c.opts.Extra), nil
}

// checkData holds the merged data against the annotations of its sources.
func (c *Compiler) checkData(data map[string]any) error {
	var errs yamlpos.Errors
	for _, s := range c.dataSources() {
		errs.Add(s.Check(data))
	}
	return manifest.Distinct(errs)
}
