package catalog

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/templates"
)

// topScope is the scope of the play itself, with the data of a host.
func (c *Compiler) topScope(ctx context.Context, h Host) (*scope, error) {
	facts := h.Facts
	if len(c.opts.Facts) > 0 {
		facts = templates.DeepMerge(facts, c.opts.Facts)
	}
	layers, err := c.layers(ctx, h, facts)
	if err != nil {
		return nil, err
	}
	data := templates.Merge(layers)
	var errs yamlpos.Errors
	for _, s := range c.dataSources() {
		errs.Add(s.Check(data)) // against the annotations of the source
	}
	if err := manifest.Distinct(errs); err != nil {
		return nil, err
	}
	env := &templates.Env{Facts: facts, Data: data, Environ: c.opts.Environ, Files: c.root.files}
	return &scope{manifest: c.root, env: env, layers: layers}, nil
}

// layers are the data of a host, low to high.
func (c *Compiler) layers(ctx context.Context, h Host, facts map[string]any) ([]templates.Layer, error) {
	layers, err := c.play.Data.Layers(ctx, facts)
	if err != nil {
		return nil, err
	}
	for _, over := range c.play.Over {
		more, err := over.Layers(ctx, facts)
		if err != nil {
			return nil, err
		}
		layers = append(layers, more...)
	}
	if c.opts.Hiera != nil {
		more, err := c.opts.Hiera.Layers(ctx, facts)
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

// dataSources are the sources of data of the play and of --hiera.
func (c *Compiler) dataSources() []templates.Source {
	sources := append([]templates.Source{c.play.Data}, c.play.Over...)
	if c.opts.Hiera != nil {
		sources = append(sources, *c.opts.Hiera)
	}
	return sources
}

// envFile has more variables of Environ, beside the manifest.
const envFile = ".env"

// withEnvFile is Environ for a play: what the file beside its manifest has goes over the
// environment of the controller.
func withEnvFile(environ map[string]any, files *templates.Files) (map[string]any, error) {
	text, err := files.Read(envFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return environ, nil
	case err != nil:
		return nil, fmt.Errorf("more variables for Environ: %w\n  hint: --no-read-env leaves that file out", err)
	}
	all := maps.Clone(environ)
	if all == nil {
		all = map[string]any{}
	}
	maps.Copy(all, envVariables(string(text)))
	return all, nil
}

// envVariables reads lines NAME=VALUE, with export before them or without. Quotes around
// a whole value do not belong to it; nothing else has a meaning. Other lines are left
// out, as CCM does: the file may be there for another program.
func envVariables(text string) map[string]any {
	variables := map[string]any{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		name, value, ok := strings.Cut(line, "=")
		name = strings.TrimSpace(strings.TrimPrefix(name, "export "))
		if !ok || name == "" || strings.HasPrefix(line, "#") {
			continue
		}
		variables[name] = unquoted(strings.TrimSpace(value))
	}
	return variables
}

func unquoted(value string) string {
	if n := len(value); n > 1 && (value[0] == '"' || value[0] == '\'') && value[n-1] == value[0] {
		return value[1 : n-1]
	}
	return value
}
