package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/ccm-push/ccm-push/cmd/ccm-push/fleet"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/playbooks/catalog"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/playbooks/manifest/load"
	"github.com/ccm-push/ccm-push/playbooks/record"
	"github.com/ccm-push/ccm-push/playbooks/workers/parcel"
)

// fleet.AdHoc runs one resource from the command line on the hosts of a pattern.
func (c *commandLine) adHoc(ctx context.Context, pattern string) error {
	t, _ := c.app.Registry.Lookup(c.words.adHoc) // splitArguments found it by this lookup
	if err := errors.Join(c.flags.RefuseSelection("an ad-hoc call"), c.flags.RefuseRollout("an ad-hoc call")); err != nil {
		return err
	}
	if _, nested := t.New().(modules.Nester); nested {
		return fmt.Errorf("the type %s works only in manifests; to apply a manifest to these hosts: ccm-push --limit %q MANIFEST", t.Name, pattern)
	}
	if manifest.Sets(t) {
		return fmt.Errorf("the type %s works only in manifests; pass values with -e", t.Name)
	}
	query := t.Query(c.words.rest)
	if err := c.session.Check(t, query); err != nil {
		return err
	}
	play, call, playErr := c.adHocPlay(pattern, t, query)
	r, err := c.fleet.Runner(ctx, fleet.Purpose{AdHoc: true})
	if err := errors.Join(playErr, err); err != nil {
		return err
	}
	defer r.Dialer.Close()
	r.Plays = []*manifest.Play{play}
	if call.Alias = c.flags.Session.Alias; query == "" {
		if call.Earlier, err = c.session.Earlier(r, pattern); err != nil {
			return err
		}
		play.InSession(call.Alias, call.Earlier)
	}
	if err := c.fleet.Workers.AdHoc(call); err != nil {
		return err
	}
	// The output of a command is the point, and it does not wait for other runs.
	command := t.CommandLine != nil
	r.Options.NoLock = command || query != ""
	if query != "" {
		return c.fleet.Run(ctx, r, &c.printer, record.Header{}, c.printer.Answers(r, c.fleet.TrustCommand)...)
	}
	to := []events.Reporter{c.printer.Reporter(r, events.TextOptions{AdHoc: command, Trust: c.fleet.TrustCommand})}
	h := fleet.AdHocHeader(pattern, play, command)
	h.Session = c.flags.Session.Name
	return c.fleet.Run(ctx, r, &c.printer, h, append(to, c.fleet.Record.Reporters(r, h)...)...)
}

// adHocPlay returns the play of the command line, with the folder of --resources, and the values from which workers
// make it again. A command with --subscribe is an event: else the flag would do nothing.
func (c *commandLine) adHocPlay(pattern string, t modules.Type, query string) (*manifest.Play, *parcel.AdHoc, error) {
	var properties []map[string]any
	var err error
	if query != "" {
		properties, err = t.QueryLine(query, c.words.rest[1:], func(word string) (map[string]any, error) { return readInput(c.app.In, word) })
	} else {
		properties = make([]map[string]any, 1)
		properties[0], err = t.Arguments(c.words.rest)
		if _, is := t.New().(modules.Commander); is && t.HasProperty(manifest.RefreshOnly) && c.flags.Session.Subscribe != nil && err == nil {
			properties[0][manifest.RefreshOnly] = true
		}
	}
	if err != nil {
		return nil, nil, err
	}
	play, err := load.AdHoc(pattern, t, query, properties...)
	if err != nil {
		return nil, nil, err
	}
	call := parcel.NewAdHoc(pattern, t.Name, query, properties...)
	if folder := c.flags.Work.Resources; folder != "" {
		if info, err := os.Stat(folder); err != nil {
			return nil, nil, fmt.Errorf("--resources: %w", err)
		} else if !info.IsDir() {
			return nil, nil, fmt.Errorf("--resources %s is not a folder", folder)
		}
		play.Programs, call.Programs = folder, folder
	}
	return play, call, nil
}

// readInput reads a map that an option takes: as it is, or - from standard input.
func readInput(in io.Reader, word string) (map[string]any, error) {
	text := []byte(word)
	if word == "-" {
		var err error
		if text, err = io.ReadAll(io.LimitReader(in, modules.MaxParse+1)); err != nil {
			return nil, fmt.Errorf("reading standard input: %w", err)
		}
	}
	document, err := catalog.JSONOfYAML("--input", text)
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(document))
	d.UseNumber()
	var values map[string]any
	if err := d.Decode(&values); err != nil || values == nil {
		return nil, errors.New(`--input: write a map, such as {"name": "value"}`)
	}
	return values, nil
}
