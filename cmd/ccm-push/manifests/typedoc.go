package manifests

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ccm-push/ccm-push/cmd/ccm-push/arguments"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/output"
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/playbooks/manifest/ansible"
)

func docCommand(types modules.Registry, p *output.Printer) *cobra.Command {
	return &cobra.Command{
		Use:   "doc [TYPE]",
		Short: "print resource types, or the properties and examples of one",
		Example: `  ccm-push doc
  ccm-push doc file`,
		Args: cobra.MaximumNArgs(1),

		ValidArgsFunction: arguments.CompleteType(types),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := p.TextOnly("doc"); err != nil {
				return err
			}
			if len(args) == 0 {
				return p.Print(typeList(types))
			}
			t, ok := types.Lookup(args[0])
			if !ok {
				return noType(types, args[0])
			}
			text, err := typeDoc(t)
			return errors.Join(err, p.Print(text))
		},
	}
}

// noType is the error of a name that no resource type has.
func noType(types modules.Registry, name string) error {
	module, ok := ansible.Find(name)
	switch near := yamlpos.Suggest(name, types.Names()); {
	case ok && module.Type != "":
		return fmt.Errorf("%q is a module of Ansible; %s\n  hint: ccm-push doc %s", name, module.Hint(), module.Type)
	case ok && module.AdHoc != "":
		return fmt.Errorf("%q is a module of Ansible; in a manifest %s\n  hint: on the command line: %s", name, module.Hint(), module.AdHocHint())
	case ok:
		return fmt.Errorf("%q is a module of Ansible; %s", name, module.AdHocHint())
	case near != "":
		return fmt.Errorf("unknown resource type %q; did you mean %q?", name, near)
	}
	return fmt.Errorf("unknown resource type %q; use one of %s", name, strings.Join(types.Names(), ", "))
}

// docWidth is the line width of a type's documentation, in characters.
const docWidth = 90

func typeList(types modules.Registry) string {
	var b strings.Builder
	indent := strings.Repeat(" ", 10)
	for _, t := range types {
		fmt.Fprintf(&b, "%-9s %s", t.Name, strings.TrimLeft(paragraph(indent+t.Doc, indent), " "))
	}
	return b.String()
}

func typeDoc(t modules.Type) (string, error) {
	var b strings.Builder
	b.WriteString(paragraph(t.Name+": "+t.Doc, ""))
	for _, f := range modules.Fields(t.New()) {
		head := fmt.Sprintf("  %s (%s)", strings.Join(append([]string{f.Name}, f.Also...), ", "), strings.Join(Kinds(f), "; "))
		b.WriteString("\n" + paragraph(head, "      "))
		b.WriteString(paragraph("    "+f.Doc, "    "))
	}
	details, err := t.Details()
	if err != nil {
		return "", err
	}
	if details != "" {
		b.WriteString("\nDetails\n\n")
		for line := range strings.Lines(details) {
			b.WriteString(strings.TrimRight("  "+line, " \n") + "\n")
		}
	}
	examples, err := t.Examples()
	if err != nil || len(examples) == 0 {
		return b.String(), err
	}
	b.WriteString("\nExamples\n")
	for _, e := range examples {
		b.WriteString("\n" + paragraph("  # "+e.Title, "  # "))
		for line := range strings.Lines(e.Text) {
			b.WriteString("  " + line)
		}
	}
	return b.String(), nil
}

// Kinds describes the values that a property accepts.
func Kinds(f modules.Field) []string {
	list := []string{kindName(f.Type)}
	if len(f.Enum) > 0 {
		list = []string{strings.Join(f.Enum, ", ")}
	}
	if f.Required {
		list = append(list, "required")
	}
	if f.Default != "" {
		list = append(list, "default "+f.Default)
	}
	if f.Secret {
		list = append(list, "secret")
	}
	return list
}

func kindName(t reflect.Type) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int64:
		return "integer"
	case reflect.Slice:
		return "list of " + kindName(t.Elem()) + "s"
	case reflect.Map:
		return "map"
	}
	return "text"
}

// paragraph breaks a text into lines; all but the first begin with indent.
func paragraph(text, indent string) string {
	var b strings.Builder
	line := len(text) - len(strings.TrimLeft(text, " "))
	b.WriteString(text[:line])
	for i, word := range strings.Fields(text) {
		switch {
		case i == 0:
		case line+1+len(word) > docWidth:
			b.WriteString("\n" + indent)
			line = len(indent)
		default:
			b.WriteByte(' ')
			line++
		}
		b.WriteString(word)
		line += len(word)
	}
	b.WriteByte('\n')
	return b.String()
}
