package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/ccm-push/ccm-push/e2e/outcomes"
)

// playsOf is the placeholder for the test of random plays in names of scripts.
const playsOf = "Plays"

// call is the script that makes a call of ccm-push. It ends without a failure, because plays may fail.
const call = `ccm-push "$@"; echo "status $?"
`

// doScript takes the place of [outcomes.DoScript]: commands take no time, so that plays end in the same order.
const doScript = `#!/bin/sh
cd "$(dirname "$0")" || exit
[ -z "$5" ] || : >"marks/$5"
echo "$1 $2"
exit "$4"
`

// writePlays writes a script for each of count random plays.
func writePlays(dir string, seed uint64, count int) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for i := range count {
		c := outcomes.Generate(seed + uint64(i))
		path := filepath.Join(dir, fmt.Sprintf("play%d.txtar", c.Seed))
		if err := os.WriteFile(path, txtar.Format(playScript(c)), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// playScript returns the script of a play: a check run, a run, its record, and an undo. One resource runs after the other, because
// the outcome of some plays depends on the order.
func playScript(c *outcomes.Case) *txtar.Archive {
	a := &txtar.Archive{Comment: []byte("sshhost " + strings.Join(c.Hosts, " ") + " " + outcomes.Controller + `
exec sh call -i hosts.yaml --progress none --check --diff site.yaml
exec sh call -i hosts.yaml --progress none --output json site.yaml
exec sh -c 'cat operator/.local/state/ccm-push/runs/*/events.jsonl'
exec sh call undo last --yes --progress none --output json
`)}
	add := func(name, text string) { a.Files = append(a.Files, txtar.File{Name: name, Data: []byte(text)}) }
	add("call", call)
	replaced := strings.NewReplacer(outcomes.Do+" ", "sh {{ Data.root }}/do ", outcomes.Folder, "{{ Data.root }}",
		"strategy: graph\n", "strategy: graph\n  parallel: 1\n", "owner: root, group: root", `owner: "{{ Data.me }}", group: "{{ Data.group }}"`)
	add("site.yaml", replaced.Replace(c.Manifest()))
	for _, host := range append(c.Hosts, outcomes.Controller) {
		add(host+"/do", doScript)
		add(host+"/marks/.keep", "")
		for path, text := range c.Before() {
			add(host+strings.TrimPrefix(path, outcomes.Folder), text)
		}
	}
	return a
}
