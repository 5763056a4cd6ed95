// Key is a libral provider that speaks JSON: keys and their values, a file each.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

const dir = "/etc/e2e/keys"

type attributes map[string]string

type input struct {
	Names   []string `json:"names"`
	Updates []struct {
		Name   string     `json:"name"`
		Should attributes `json:"should"`
	} `json:"updates"`
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run() error {
	var in input
	if err := json.NewDecoder(os.Stdin).Decode(&in); err != nil {
		return err
	}
	answer := map[string]any{}
	switch os.Args[1] {
	case "ral_action=get":
		resources := []attributes{}
		for _, name := range in.Names {
			resources = append(resources, get(name))
		}
		answer["resources"] = resources
	case "ral_action=set":
		fmt.Fprintf(os.Stderr, "info: %d keys in one call\n", len(in.Updates))
		for _, u := range in.Updates {
			if err := set(u.Name, u.Should); err != nil {
				return err
			}
		}
		answer["changes"], answer["derive"] = []any{}, true
	}
	return json.NewEncoder(os.Stdout).Encode(answer)
}

func get(name string) attributes {
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		return attributes{"name": name, "ensure": "absent"}
	}
	return attributes{"name": name, "ensure": "present", "value": string(text)}
}

func set(name string, should attributes) error {
	if should["ensure"] == "absent" {
		return os.Remove(filepath.Join(dir, name))
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, name), []byte(should["value"]), 0o644)
}
