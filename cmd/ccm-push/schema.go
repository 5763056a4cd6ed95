package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/inventory/yamlpos/schema"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/playbooks/events"
	manifestschema "github.com/ccm-push/ccm-push/playbooks/manifest/schema"
)

func schemaCommand(types modules.Registry, p *printer) *cobra.Command {
	return &cobra.Command{
		Use:   "schema manifest|inventory|events",
		Short: "print the JSON Schema of manifests or inventories, for editors, or of events",
		Long: `schema prints a JSON Schema (2020-12) of one YAML document of a manifest file, or
of an inventory. It is made from what reads these files, resource types included:
whatever is accepted here, the schema accepts. That of events describes a line of
--output json and of --log: nothing else stands in them.`,
		Example: `  ccm-push schema manifest > manifest.schema.json
  ccm-push schema inventory > inventory.schema.json
  ccm-push schema events > events.schema.json`,
		ValidArgs: []string{"manifest", "inventory", "events"},
		RunE:      func(_ *cobra.Command, args []string) error { return printSchema(types, p, args) },
	}
}

func printSchema(types modules.Registry, p *printer, args []string) error {
	if len(args) != 1 {
		return errors.New("say which schema: manifest, inventory or events")
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
		return fmt.Errorf("there is no schema %q: there are manifest, inventory and events", args[0])
	}
	text, err := s.Encode()
	if err != nil {
		return err
	}
	return p.print(string(text))
}
