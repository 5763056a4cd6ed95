// The program gotoy is a DSC resource in the way of the tutorials of 2023: it takes an
// instance as JSON on standard input, asks the application toy, which it finds on its
// PATH, where its settings are, and prints the state.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

type settings struct {
	Folder    string `json:"folder"`
	Ensure    string `json:"ensure,omitempty"`
	Automatic *bool  `json:"updateAutomatically,omitempty"`
	Frequency *int   `json:"updateFrequency,omitempty"`
}

// configuration is what the application's file holds.
type configuration struct {
	Updates struct {
		Automatic *bool `json:"automatic,omitempty"`
		Frequency *int  `json:"checkFrequency,omitempty"`
	} `json:"updates"`
}

func main() {
	if len(os.Args) != 2 {
		fail("usage: gotoy get|set")
	}
	var wanted settings
	if err := json.NewDecoder(os.Stdin).Decode(&wanted); err != nil {
		fail(err)
	}
	path, err := exec.Command("toy", "path", wanted.Folder).Output()
	if err != nil {
		fail(err)
	}
	file := strings.TrimSpace(string(path))
	if os.Args[1] == "set" {
		set(file, wanted)
	}
	if err := json.NewEncoder(os.Stdout).Encode(get(file, wanted.Folder)); err != nil {
		fail(err)
	}
}

func get(file, folder string) settings {
	actual := settings{Folder: folder, Ensure: "absent"}
	text, err := os.ReadFile(file)
	if err != nil {
		return actual
	}
	var c configuration
	if err := json.Unmarshal(text, &c); err != nil {
		fail(err)
	}
	return settings{folder, "present", c.Updates.Automatic, c.Updates.Frequency}
}

func set(file string, wanted settings) {
	if wanted.Ensure == "absent" {
		if err := os.Remove(file); err != nil && !os.IsNotExist(err) {
			fail(err)
		}
		return
	}
	var c configuration
	if text, err := os.ReadFile(file); err == nil {
		if err := json.Unmarshal(text, &c); err != nil {
			fail(err)
		}
	}
	if wanted.Automatic != nil {
		c.Updates.Automatic = wanted.Automatic
	}
	if wanted.Frequency != nil {
		c.Updates.Frequency = wanted.Frequency
	}
	text, err := json.Marshal(c)
	if err == nil {
		err = os.WriteFile(file, text, 0o644)
	}
	if err != nil {
		fail(err)
	}
}

func fail(what any) {
	fmt.Fprintln(os.Stderr, "Error:", what)
	os.Exit(1)
}
