package expr

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// atOnce is a host that answers while a document is read: it knows resources by their names in documents.
type atOnce struct{ answers }

func (a atOnce) Ask(ctx context.Context, function string, args []any) (any, error) {
	if function == "reference" || function == "stateChanged" {
		args = []any{"ref " + args[0].(string)}
	}
	return a.answers.Ask(ctx, function, args)
}

// A grower makes random expressions that give strings, numbers, booleans or lists.
type grower struct {
	*rand.Rand
	vars []string // variables of the surrounding lambdas
}

func (g *grower) one(of ...func() string) string { return of[g.IntN(len(of))]() }

func (g *grower) text(depth int) string {
	if depth == 0 {
		of := []func() string{
			func() string { return "'it''s [x'" }, func() string { return "envvar('HOME')" }, func() string { return "parameters('word')" },
			func() string { return "parameters('password')" }, func() string { return "context().os.family" }, func() string { return "first(reference('x').list)" },
		}
		if len(g.vars) > 0 {
			of = append(of, func() string { return "string(lambdaVariables('" + g.vars[g.IntN(len(g.vars))] + "'))" })
		}
		return g.one(of...)
	}
	return g.one(
		func() string { return "concat(" + g.text(depth-1) + ", " + g.text(depth-1) + ")" },
		func() string { return "if(" + g.truth(depth-1) + ", " + g.text(depth-1) + ", " + g.text(depth-1) + ")" },
		func() string { return "format('{0}-{1}', " + g.text(depth-1) + ", " + g.number(depth-1) + ")" },
		func() string { return "toUpper(" + g.text(depth-1) + ")" },
		func() string { return "string(" + g.list(depth-1) + ")" },
		func() string { return "join(" + g.list(depth-1) + ", '-')" },
		func() string { return "coalesce(reference('x').none, " + g.text(depth-1) + ")" },
		func() string { return "my.greet(" + g.text(depth-1) + ")" },
		func() string { return "createObject('a', " + g.text(depth-1) + ", 'b', " + g.text(depth-1) + ").a" },
		func() string {
			return "createArray(" + g.text(depth-1) + ", " + g.text(depth-1) + ")[mod(" + g.number(depth-1) + ", 2)]"
		},
	)
}

func (g *grower) number(depth int) string {
	if depth == 0 {
		return g.one(func() string { return "7" }, func() string { return "reference('x').port" }, func() string { return "copyIndex()" }, func() string { return "max(0, 3)" })
	}
	return g.one(
		func() string { return "add(" + g.number(depth-1) + ", 1)" },
		func() string { return "length(" + g.list(depth-1) + ")" },
		func() string { return "length(" + g.text(depth-1) + ")" },
		func() string { return "min(" + g.number(depth-1) + ", " + g.number(depth-1) + ")" },
	)
}

func (g *grower) truth(depth int) string {
	if depth == 0 {
		return g.one(func() string { return "true" }, func() string { return "stateChanged('x')" }, func() string { return "equals(tryWhich('sshd'), null())" })
	}
	return g.one(
		func() string { return "not(" + g.truth(depth-1) + ")" },
		func() string { return "and(" + g.truth(depth-1) + ", " + g.truth(depth-1) + ")" },
		func() string { return "equals(" + g.number(depth-1) + ", " + g.number(depth-1) + ")" },
		func() string { return "greater(" + g.number(depth-1) + ", 3)" },
	)
}

func (g *grower) list(depth int) string {
	if depth == 0 {
		return g.one(func() string { return "parameters('list')" }, func() string { return "reference('x').list" }, func() string { return "range(0, 3)" })
	}
	v := fmt.Sprintf("v%d", len(g.vars))
	return g.one(
		func() string { return "createArray(" + g.text(depth-1) + ", " + g.text(depth-1) + ")" },
		func() string { return "concat(" + g.list(depth-1) + ", " + g.list(depth-1) + ")" },
		func() string { return "take(" + g.list(depth-1) + ", 2)" },
		func() string {
			over := g.list(depth - 1)
			g.vars = append(g.vars, v)
			defer func() { g.vars = g.vars[:len(g.vars)-1] }()
			return "map(" + over + ", lambda('" + v + "', " + g.text(depth-1) + "))"
		},
		func() string {
			over := g.list(depth - 1)
			g.vars = append(g.vars, v)
			defer func() { g.vars = g.vars[:len(g.vars)-1] }()
			return "filter(" + over + ", lambda('" + v + "', " + g.truth(depth-1) + "))"
		},
	)
}

// TestFolding checks that folding here and evaluating the rest on the host has the same result as evaluating the whole
// on the host.
func TestFolding(t *testing.T) {
	g := &grower{Rand: rand.New(rand.NewPCG(3, 4))}
	agreed, both := 0, 0
	for range 5000 {
		text := "[" + g.text(1+g.IntN(5)) + "]"
		names := doc()
		whole, wholeErr := evaluate(t, names, atOnce{theHost}, text)
		here, err := evaluate(t, names, nil, text)
		if err != nil {
			require.NotContains(t, err.Error(), "s3cret", text)
			continue // a branch that the host does not take is refused as well
		}
		sealed, scope, err := seal(map[string]any{"p": here}, Result{value: true})
		require.NoError(t, err)
		got := map[string]any{"p": nil}
		if scope != nil {
			wire, err := json.Marshal(map[string]any{"properties": sealed, "scope": scope})
			require.NoError(t, err)
			var received struct {
				Properties map[string]any
				Scope      *Scope
			}
			require.NoError(t, json.Unmarshal(wire, &received))
			got, _, err = received.Scope.Evaluate(t.Context(), theHost, received.Properties)
			require.Equal(t, wholeErr != nil, err != nil, "%s\n%v\n%v", text, wholeErr, err)
			if err != nil {
				require.NotContains(t, err.Error(), "s3cret", text)
				both++
				continue
			}
		} else {
			require.NoError(t, wholeErr, text)
			got = sealed
		}
		want, err := jsonText(Wrapped(whole.value))
		require.NoError(t, err)
		have, err := jsonText(got["p"])
		require.NoError(t, err)
		require.Equal(t, want, have, text)
		if strings.Contains(strings.ToLower(have), "s3cret") {
			require.Contains(t, have, "secure", text)
		}
		agreed++
	}
	require.Greater(t, agreed, 1000)
	t.Logf("%d agree, %d fail alike", agreed, both)
}
