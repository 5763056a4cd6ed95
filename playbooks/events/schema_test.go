package events_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/inventory/yamlpos/schema"
	"github.com/ccm-push/ccm-push/inventory/yamlpos/schema/schematest"
	"github.com/ccm-push/ccm-push/playbooks/events"
)

// TestSchemaOfScenes checks every line of the scenes against the schema. The scene with attacks replaces words that the
// schema lists, so it is skipped.
func TestSchemaOfScenes(t *testing.T) {
	checker := schematest.Compile(t, events.Schema())
	seen := map[string]bool{}
	for _, s := range scenes() {
		if s.name == "hostile" {
			continue
		}
		var lines bytes.Buffer
		s.play(events.NewJSON(&lines))
		for line := range bytes.Lines(lines.Bytes()) {
			require.NoError(t, checker.CheckJSON(line), "%s", line)
			var head struct{ Event string }
			require.NoError(t, json.Unmarshal(line, &head))
			seen[head.Event] = true
		}
	}
	for _, def := range events.Schema().Defs {
		require.True(t, seen[def.Name], "no scene has an event %s", def.Name)
	}
}

// TestSchemaRefuses has lines that are nearly events.
func TestSchemaRefuses(t *testing.T) {
	checker := schematest.Compile(t, events.Schema())
	const result = `{"event":"result","time":"2026-01-02T03:04:05.678Z","run":"r","play":"p","host":"h","type":"file","name":"/x","alias":"","status":"changed","check":false,"refreshed":false,"certain":true,"because":"","message":"","messages":[],"error":"","changed":true,"changes":[],"diff":"","duration_ms":1.8}`
	require.NoError(t, checker.CheckJSON([]byte(result)))
	for _, c := range []struct{ name, old, new string }{
		{"another key", `"alias":""`, `"alias":"","colour":"red"`},
		{"another key inside", `"messages":[]`, `"messages":[{"level":"info","text":"","colour":"red"}]`},
		{"no key", `"alias":"",`, ``},
		{"null", `"changes":[]`, `"changes":null`},
		{"a text for a flag", `"certain":true`, `"certain":"true"`},
		{"another word", `"status":"changed"`, `"status":"unchanged"`},
		{"another event", `"event":"result"`, `"event":"fanfare"`},
		{"another time", `678Z`, `678+01:00`},
		{"changed in a check result", `"check":false`, `"check":true`},
		{"no changed", `"changed":true,`, ``},
		{"a part of a command", `"diff":""`, `"diff":"","stdout":""`},
	} {
		t.Run(c.name, func(t *testing.T) {
			line := strings.Replace(result, c.old, c.new, 1)
			require.NotEqual(t, result, line)
			require.Error(t, checker.CheckJSON([]byte(line)))
		})
	}
	check := strings.Replace(strings.Replace(result, `"check":false`, `"check":true`, 1), `"changed":true,`, ``, 1)
	require.NoError(t, checker.CheckJSON([]byte(check)))
}

var (
	docRow     = regexp.MustCompile("(?m)^\\| `(\\w+)` \\| .*$")
	docWord    = regexp.MustCompile("`([a-z_]+)`|\"([a-z_]+)\":")
	docKeys    = regexp.MustCompile("^\\| ((?:`\\w+`(?:, )?)+) \\|")
	docSection = regexp.MustCompile("(?s)^# `(\\w+)`\n(.*)$") // after the first two # of its heading
	docItem    = regexp.MustCompile("^- ((?:`\\w+`(?:, )?)+):")
)

// TestSchemaIsDocumented compares the schema with the page about events: every key of an event is named in its row or
// below the table. No row, and no section about the fields of one event, has an unknown key.
func TestSchemaIsDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/reference/events.md")
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(page), "| event | when | fields |\n|---|---|---|\n")
	require.True(t, found)
	table, below, _ := strings.Cut(rest, "\n\n")
	rows, all := map[string]string{}, map[string]bool{}
	for _, m := range docRow.FindAllStringSubmatch(table, -1) {
		rows[m[1]] = m[0]
	}
	for section := range strings.SplitSeq(below, "\n##") {
		if m := docSection.FindStringSubmatch(section); m != nil && rows[m[1]] != "" {
			rows[m[1]] += m[2]
		}
	}
	var names []string
	for _, def := range events.Schema().Defs {
		names = append(names, def.Name)
		own := wordsOf(def.Schema)
		for word, isKey := range own {
			all[word] = all[word] || isKey
		}
		told := backquoted(rows[def.Name] + below)
		for _, key := range slices.Sorted(maps.Keys(own)) {
			if !slices.Contains([]string{"event", "time", "run"}, key) && own[key] {
				require.Contains(t, told, key, "docs/reference/events.md does not say that an event %s has it", def.Name)
			}
		}
		for word := range backquoted(rows[def.Name]) {
			_, isOwn := own[word]
			_, isEvent := rows[word]
			require.True(t, isOwn || isEvent, "docs/reference/events.md says that an event %s has %s", def.Name, word)
		}
	}
	require.ElementsMatch(t, names, slices.Collect(maps.Keys(rows)))
	for line := range strings.Lines(below) {
		if m := docKeys.FindStringSubmatch(line); m != nil {
			for word := range backquoted(m[1]) {
				require.True(t, all[word], "docs/reference/events.md has a row about %s, which no event has", word)
			}
		}
		if m := docItem.FindStringSubmatch(line); m != nil {
			for word := range backquoted(m[1]) {
				require.Contains(t, all, word, "docs/reference/events.md has an item about %s, which no event has", word)
			}
		}
	}
}

// backquoted are the words of a text that may be keys.
func backquoted(text string) map[string]bool {
	words := map[string]bool{}
	for _, m := range docWord.FindAllStringSubmatch(text, -1) {
		words[m[1]+m[2]] = true
	}
	return words
}

// wordsOf are the keys of a schema, at any depth, with true, and the words that it lists with false.
func wordsOf(s *schema.Schema) map[string]bool {
	words := map[string]bool{}
	for _, word := range s.Enum {
		if text, ok := word.(string); ok {
			words[text] = false
		}
	}
	for _, p := range s.Properties {
		maps.Copy(words, wordsOf(p.Schema))
	}
	if s.Items != nil {
		maps.Copy(words, wordsOf(s.Items))
	}
	if others, ok := s.Others.(*schema.Schema); ok {
		maps.Copy(words, wordsOf(others))
	}
	for _, p := range s.Properties {
		words[p.Name] = true
	}
	return words
}

// TestSchemaDescribes has a description for every key.
func TestSchemaDescribes(t *testing.T) {
	var look func(path string, s *schema.Schema)
	look = func(path string, s *schema.Schema) {
		for _, p := range s.Properties {
			if p.Name != "event" {
				require.NotEmpty(t, p.Schema.Description, path+p.Name)
			}
			look(path+p.Name+".", p.Schema)
		}
		if s.Items != nil {
			look(path+"[].", s.Items)
		}
		if others, ok := s.Others.(*schema.Schema); ok {
			look(path+"*.", others)
		}
	}
	for _, def := range events.Schema().Defs {
		look(def.Name+".", def.Schema)
	}
}
