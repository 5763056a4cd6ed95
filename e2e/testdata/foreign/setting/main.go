// Setting is a DSC resource, in the way of DSC's tutorial: it drives the application
// e2eapp, which it expects on PATH.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

type setting struct {
	Ensure  string `json:"_ensure"`
	Updates *bool  `json:"updateAutomatically,omitempty"`
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("usage: e2esetting get | set")
	}
	var want setting
	if err := json.NewDecoder(os.Stdin).Decode(&want); err != nil {
		return err
	}
	if args[0] == "set" {
		if err := want.set(); err != nil {
			return err
		}
	}
	have, err := get()
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(have)
}

func get() (setting, error) {
	out, err := exec.Command("e2eapp", "get").Output()
	if err != nil {
		return setting{}, err
	}
	text := strings.TrimSpace(string(out))
	if text == "" {
		return setting{Ensure: "Absent"}, nil
	}
	on := text == "updates=on"
	return setting{Ensure: "Present", Updates: &on}, nil
}

func (s setting) set() error {
	args := []string{"clear"}
	if s.Ensure != "Absent" {
		args = []string{"set", "off"}
		if s.Updates != nil && *s.Updates {
			args[1] = "on"
		}
	}
	return exec.Command("e2eapp", args...).Run()
}
