package manifests

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	shellquote "github.com/kballard/go-shellquote"
	"github.com/spf13/cobra"
	"github.com/tidwall/gjson"
	"gopkg.in/yaml.v3"

	"github.com/ccm-push/ccm-push/cmd/ccm-push/arguments"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/fleet"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/output"
	"github.com/ccm-push/ccm-push/playbooks/extravars"
	"github.com/ccm-push/ccm-push/templates"
)

func hieraCommand(f *fleet.Variables, p *output.Printer) *cobra.Command {
	c := &cobra.Command{
		Use:     "hiera",
		Short:   "print the data of a hierarchical document",
		Example: `  ccm-push hiera parse data.yaml role=web`,
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	c.AddCommand(hieraParseCommand(f, p))
	return c
}

// hieraOutput is the form in which a resolved document is printed.
type hieraOutput struct {
	query, prefix string
	env, yaml     bool
}

func hieraParseCommand(f *fleet.Variables, p *output.Printer) *cobra.Command {
	var o hieraOutput
	c := &cobra.Command{
		Use:   "parse FILE [FACT=VALUE...]",
		Short: "print the data for one host, as JSON; arguments such as role=web are its facts",
		Long: `A hierarchical document contains data for all hosts, and overrides for some hosts, for example for
the role web. ccm-push hiera parse prints the data for one host. The document is a file, an http(s)
URL or kv://BUCKET/KEY of NATS. The command contacts no host: facts (data about the host) come from
the arguments, --fact and --facts. Values of -e override values of the document.

If a document contains secrets, the command prints no data, only an error. To print the data of a
play with masked secrets, use ccm-push render. With --env, each key of the first level becomes a
line for a shell, such as HIERA_PORT=8080; lists and maps become JSON.`,
		Example: `  ccm-push hiera parse data.yaml role=web env=prod
  ccm-push hiera parse data.yaml --facts web1.json --query tls.port
  eval "$(ccm-push hiera parse data.yaml role=web --env)" && echo "$HIERA_PORT"`,
		Args: arguments.AtLeast(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			data, err := resolved(cmd.Context(), f, args[0], args[1:])
			if err != nil {
				return err
			}
			text, err := o.text(data)
			if err != nil {
				return err
			}
			return p.Print(text)
		},
	}
	c.Flags().StringVar(&o.query, "query", "", "print only the value at a gjson `path`, such as tls.port")
	c.Flags().BoolVar(&o.env, "env", false, "print lines NAME=VALUE for a shell")
	c.Flags().StringVar(&o.prefix, "env-prefix", "HIERA", "the prefix of the names that --env prints")
	c.Flags().BoolVar(&o.yaml, "yaml", false, "print YAML")
	return c
}

// resolved returns the data of a document for a host with facts KEY=VALUE, in addition to the facts of the flags.
func resolved(ctx context.Context, f *fleet.Variables, from string, facts []string) (map[string]any, error) {
	document, err := extravars.ReadHiera(ctx, from, "", f.NATS.Store(), f.App.Warn)
	if err != nil {
		return nil, cmp.Or(errors.Unwrap(err), err) // without the name of the flag
	}
	source, err := document.Plain(f.App.Warn)
	if err != nil || source == nil {
		return map[string]any{}, err
	}
	f.Flags.Variables.Fact = append(f.Flags.Variables.Fact, facts...)
	options, err := f.Options(ctx, nil, false)
	if err != nil {
		return nil, err
	}
	layers, err := source.Layers(ctx, options.Facts, nil)
	if err != nil {
		return nil, err
	}
	return templates.Settle(ctx, options.Facts, nil, append(layers, options.Extra...), nil)
}

// text returns the data in the form that is printed.
func (o hieraOutput) text(data map[string]any) (string, error) {
	if o.env && o.yaml {
		return "", errors.New("--env and --yaml are two forms of output; use one")
	}
	var value any = data
	if o.query != "" {
		whole, err := json.Marshal(data)
		if err != nil {
			return "", err
		}
		found := gjson.GetBytes(whole, o.query)
		if !found.Exists() {
			return "", fmt.Errorf("--query %q: the data has no value at this path", o.query)
		}
		value = found.Value()
	}
	switch {
	case o.env:
		return o.lines(value)
	case o.yaml:
		text, err := yaml.Marshal(value)
		return string(text), err
	}
	text, err := json.MarshalIndent(value, "", "  ")
	return string(text) + "\n", err
}

// lines returns a map as assignments that a shell reads, in the order of the keys. Any other value is PREFIX_VALUE.
func (o hieraOutput) lines(value any) (string, error) {
	entries, isMap := value.(map[string]any)
	if !isMap {
		entries = map[string]any{"value": value}
	}
	var b strings.Builder
	of := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(entries)) {
		name := o.variable(key)
		if other, twice := of[name]; twice {
			return "", fmt.Errorf("the keys %q and %q both become %q", other, key, name)
		}
		of[name] = key
		text, err := envText(entries[key])
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "%s=%s\n", name, shellquote.Join(text))
	}
	return b.String(), nil
}

// variable returns the name of the variable for a key.
func (o hieraOutput) variable(key string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' {
			return r
		}
		return '_'
	}, strings.ToUpper(o.prefix+"_"+key))
}

// envText returns a value in the form of a variable: lists and maps as JSON.
func envText(value any) (string, error) {
	switch v := value.(type) {
	case string:
		return v, nil
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64), nil
	}
	text, err := json.Marshal(value)
	return string(text), err
}
