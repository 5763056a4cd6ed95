package manifests

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ccm-push/ccm-push/cmd/ccm-push/arguments"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/output"
	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/inventory/yamlpos/schema"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/playbooks/events"
	manifestschema "github.com/ccm-push/ccm-push/playbooks/manifest/schema"
)

func schemaCommand(types modules.Registry, p *output.Printer) *cobra.Command {
	return &cobra.Command{
		Use:   "schema manifest|inventory|events",
		Short: "print the JSON Schema of manifests, inventories or events",
		Long: `ccm-push schema prints a JSON Schema (2020-12) for editors: of a manifest, of an inventory, or of
events. The schema covers all resource types, and accepts every valid file. The schema of manifests
describes one YAML document. The schema of events describes a line of --output json and of --log.`,
		Example: `  ccm-push schema manifest > manifest.schema.json
  ccm-push schema inventory > inventory.schema.json
  ccm-push schema events > events.schema.json`,
		ValidArgs: schemas,
		RunE:      func(_ *cobra.Command, args []string) error { return printSchema(types, p, args) },
	}
}

// schemas are the words after schema.
var schemas = []string{"manifest", "inventory", "events"}

func printSchema(types modules.Registry, p *output.Printer, args []string) error {
	if len(args) != 1 {
		return errors.New("missing argument: ccm-push schema manifest|inventory|events")
	}
	var s *schema.Schema
	switch args[0] {
	case "manifest":
		s = manifestschema.Of(types)
	case "inventory":
		s = inventory.Schema()
	case "events":
		s = events.Schema()
	default:
		return fmt.Errorf("unknown schema %q; %s", args[0], arguments.Suggestion(args[0], "", schemas))
	}
	text, err := s.Encode()
	if err != nil {
		return err
	}
	return p.Print(string(text))
}
