package workers

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/playbooks"
	"github.com/ccm-push/ccm-push/playbooks/workers/parcel"
	"github.com/ccm-push/ccm-push/playbooks/workers/sealing"
)

var long = strings.Repeat("x", 1<<20)

func minus() *int { n := -1; return &n }

// badMessages are messages that no program of the same build sends, by their types.
var badMessages = map[string][]message{
	"ticket":       {&ticket{Run: long}, &ticket{Shard: "a\x00b"}, &ticket{Stamp: []byte(long)}},
	"question":     {&question{Nonce: long}, &question{SSHKey: []byte(long)}, &question{Ticket: ticket{Run: long}}, &question{}, &question{SSHKey: []byte("x")}},
	"object":       {&object{Name: "x"}, &object{Name: long, SHA256: make([]byte, 32)}},
	"answer":       {&answer{Refused: long}, &answer{Run: &object{}}, &answer{Shard: &object{SHA256: []byte("x")}}, &answer{Nonce: long}},
	"order":        {&order{Run: long}},
	"presence":     {&presence{Hosts: -1}, &presence{Host: long}},
	"lease":        {&lease{}, &lease{Key: sealing.NewFrameKey(), What: long}, &lease{Key: sealing.NewFrameKey(), Holder: long}},
	"runContent":   {&runContent{}, &runContent{Recipe: parcel.Recipe{Folder: ".."}}, &runContent{Recipe: parcel.Recipe{Folder: "/a/../.."}}, &runContent{Recipe: parcel.Recipe{Folder: "/"}, User: long}},
	"shardContent": {&shardContent{}, &shardContent{Key: sealing.NewFrameKey(), Certificate: []byte(long)}, &shardContent{Key: sealing.NewFrameKey(), Turns: []playbooks.Turn{{Request: playbooks.PlayRequest{}, Host: "a", Play: -1}}}},
	"asked":        {&asked{Number: -1}, &asked{Offset: -1}, &asked{Errands: minus()}, &asked{Host: long}},
	"answered":     {&answered{Object: &object{}}, &answered{Certificate: []byte(long)}, &answered{Errands: []errand{{Number: 0, Host: "a"}}}},
	"said":         {&said{Warnings: make([]string, maxWarnings+1)}, &said{Warnings: []string{long}}, &said{Failed: long}},
}

func TestMessageBreaches(t *testing.T) {
	for name, list := range badMessages {
		for i, m := range list {
			require.Equal(t, name, reflect.TypeOf(m).Elem().Name())
			require.Error(t, m.Check(), "%s %d", name, i)
		}
	}
}

// TestMessagesAreChecked fails if a type has a check and no case in badMessages, which also seeds the fuzz target.
// Reading a foreign message without a check does not compile: see verify, receive and fetch.
func TestMessagesAreChecked(t *testing.T) {
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	checked := map[string]bool{}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		require.NoError(t, err)
		for _, d := range file.Decls {
			f, is := d.(*ast.FuncDecl)
			if !is || f.Recv == nil || f.Name.Name != "Check" {
				continue
			}
			if star, is := f.Recv.List[0].Type.(*ast.StarExpr); is {
				checked[star.X.(*ast.Ident).Name] = true
			}
		}
	}
	require.Equal(t, slices.Sorted(maps.Keys(checked)), slices.Sorted(maps.Keys(badMessages)))
}

// FuzzMessages reads anything as any message: it is refused, or it is the same when it is written and read again.
func FuzzMessages(f *testing.F) {
	names := slices.Sorted(maps.Keys(badMessages))
	for i, name := range names {
		for _, m := range badMessages[name] {
			text, err := json.Marshal(m)
			require.NoError(f, err)
			f.Add(i, text)
		}
		f.Add(i, []byte("{}"))
		f.Add(i, []byte("null"))
	}
	f.Fuzz(func(t *testing.T, i int, text []byte) {
		if i < 0 || i >= len(names) {
			return
		}
		of := reflect.TypeOf(badMessages[names[i]][0]).Elem()
		m := reflect.New(of).Interface().(message)
		if sealing.Receive(text, m) != nil {
			return
		}
		again, err := json.Marshal(m)
		require.NoError(t, err)
		back := reflect.New(of).Interface().(message)
		require.NoError(t, sealing.Receive(again, back), "%s", again)
	})
}
