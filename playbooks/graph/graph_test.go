package graph

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules"
)

// flat makes vertices that are within none.
func flat(refs ...string) []Vertex {
	var all []Vertex
	for _, ref := range refs {
		all = append(all, Vertex{Ref: ref, Name: ref, Within: -1})
	}
	return all
}

func makes(p string) modules.Relation {
	return modules.Relation{Verb: modules.Makes, Thing: modules.PathOf(p)}
}

func needs(p string, reach modules.Reach, why string) modules.Relation {
	return modules.Relation{Verb: modules.Needs, Thing: modules.PathOf(p), Reach: reach, Why: why}
}

// written returns an edge that is written at a line of site.yaml.
func written(from, to, line int) Edge {
	return Edge{From: from, To: to, Kind: Require, Why: "require", At: &yamlpos.Node{File: "site.yaml", Line: line, Column: 3}}
}

// shown writes edges as text.
func shown(g *Graph, edges []Edge) string {
	var all []string
	for _, e := range edges {
		all = append(all, fmt.Sprintf("%s < %s (%s)", g.Vertices[e.From].Ref, g.Vertices[e.To].Ref, e.Why))
	}
	return strings.Join(all, "\n")
}

func ordered(g *Graph) string {
	var all []string
	for _, i := range g.Order {
		all = append(all, g.Vertices[i].Ref)
	}
	return strings.Join(all, " ")
}

func TestOrder(t *testing.T) {
	within := flat("a", "b", "c", "d", "e")
	within[0].Within, within[1].Within = 2, 2 // c stands for a and b
	batches := flat("p1", "f", "p2", "g", "p3", "p4")
	for _, i := range []int{0, 2, 4, 5} {
		batches[i].Batch = "package"
	}
	batches[5].Batch = ""
	for _, test := range []struct {
		name     string
		vertices []Vertex
		edges    []Edge
		want     string
	}{
		{"nothing", nil, nil, ""},
		{"as written", flat("a", "b", "c"), nil, "a b c"},
		{"backwards", flat("a", "b", "c"), []Edge{written(2, 1, 1), written(1, 0, 2)}, "c b a"},
		{"the first that is ready", flat("a", "b", "c", "d"), []Edge{written(2, 0, 1)}, "b c a d"},
		{"a manifest stays whole", within, []Edge{written(4, 0, 1)}, "d e a b c"},
		{"what waits for a part waits for it all", within, []Edge{written(1, 0, 1), written(0, 3, 1)}, "b a c d e"},
		{"batches are neighbours", batches, []Edge{written(0, 1, 1), written(3, 4, 2)}, "g p1 p2 p3 f p4"},
		{"a batch needs no way between", batches, []Edge{written(0, 2, 1)}, "p1 p3 f p2 g p4"},
	} {
		t.Run(test.name, func(t *testing.T) {
			g, err := New(test.vertices, test.edges)
			require.NoError(t, err)
			require.Equal(t, test.want, ordered(g))
		})
	}
}

func TestCircles(t *testing.T) {
	within := flat("a", "b", "c", "d", "e", "f")
	within[0].Within, within[1].Within = 2, 2
	within[3].Within, within[4].Within = 5, 5
	many := flat()
	var ring []Edge
	for i := range 20 {
		many = append(many, Vertex{Ref: fmt.Sprint("r", i), Within: -1})
		ring = append(ring, written(i, (i+1)%20, i+1))
	}
	for _, test := range []struct {
		name     string
		vertices []Vertex
		edges    []Edge
		want     string
	}{
		{"two", flat("a", "b"), []Edge{written(0, 1, 1), written(1, 0, 2)},
			"these resources wait for each other: a → b (require, site.yaml:1:3) → a (require, site.yaml:2:3)"},
		{"the shortest", flat("a", "b", "c"), []Edge{written(0, 1, 1), written(1, 2, 2), written(2, 0, 3), written(1, 0, 4)},
			"these resources wait for each other: a → b (require, site.yaml:1:3) → a (require, site.yaml:4:3)"},
		{"manifests that wait for parts of each other", within, []Edge{written(0, 3, 1), written(4, 1, 2)},
			"these resources wait for each other: c → f (require, site.yaml:1:3) → c (require, site.yaml:2:3)"},
		{"many", many, ring,
			"these resources wait for each other: r0 → r1 (require, site.yaml:1:3) → r2 (require, site.yaml:2:3) → r3 (require, site.yaml:3:3) → " +
				"r4 (require, site.yaml:4:3) → r5 (require, site.yaml:5:3) → r6 (require, site.yaml:6:3) → r7 (require, site.yaml:7:3) → " +
				"r8 (require, site.yaml:8:3) → r9 (require, site.yaml:9:3) → … → r0 (require, site.yaml:20:3)"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := New(test.vertices, test.edges)
			require.EqualError(t, err, test.want)
			var circle *CircleError
			require.True(t, errors.As(err, &circle))
			require.Len(t, circle.Edges, len(circle.Refs)-1)
		})
	}
}

func related(ref string, relations ...modules.Relation) Vertex {
	return Vertex{Ref: ref, Name: ref, Within: -1, Relations: relations}
}

func TestAutomatic(t *testing.T) {
	user := modules.Thing{Kind: modules.ThingUser, Key: "app"}
	for _, test := range []struct {
		name     string
		vertices []Vertex
		edges    []Edge
		want     string
		dropped  string
	}{
		{"the nearest directory", []Vertex{
			related("deep", makes("/a/b/c/d"), modules.NeedsParent("/a/b/c/d")), related("top", makes("/a")), related("near", makes("/a/b")),
		}, nil, "near < deep (parent directory)", ""},
		{"not itself", []Vertex{related("one", makes("/a"), needs("/a", modules.Nearest, "target"))}, nil, "", ""},
		{"all below", []Vertex{
			related("package", needs("/etc/apt", modules.Within, "repository")), related("inside", makes("/etc/apt/x")),
			related("beside", makes("/etc/aptitude")), related("itself", makes("/etc/apt")), related("before", makes("/etc/apt-x")),
		}, nil, "inside < package (repository)\nitself < package (repository)", ""},
		{"what is removed", []Vertex{
			related("directory", modules.Relation{Verb: modules.Removes, Thing: modules.PathOf("/a")}),
			related("file", modules.Relation{Verb: modules.Removes, Thing: modules.PathOf("/a/b")}, modules.LeavesParent("/a/b")),
		}, nil, "file < directory (parent directory)", ""},
		{"who removes does not make", []Vertex{
			related("gone", modules.Relation{Verb: modules.Removes, Thing: user}),
			related("file", modules.Relation{Verb: modules.Needs, Thing: user, Why: "owner"}),
		}, nil, "", ""},
		{"editors take turns behind makers, in their order", []Vertex{
			related("one", modules.Relation{Verb: modules.Edits, Thing: modules.PathOf("/f"), Why: "file"}),
			related("reader", needs("/f", modules.There, "configuration")),
			related("two", modules.Relation{Verb: modules.Edits, Thing: modules.PathOf("/f"), Why: "file"}),
			related("maker", makes("/f")),
		}, []Edge{written(2, 0, 1)},
			"two < one (require)\nmaker < one (file)\none < reader (configuration)\ntwo < reader (configuration)\nmaker < reader (configuration)\nmaker < two (file)", ""},
		{"turns", []Vertex{related("a", modules.Rewrites("accounts")), related("b"), related("c", modules.Rewrites("accounts"))}, nil,
			"a < c (takes turns for the accounts)", ""},
		{"the same name twice", []Vertex{related("a"), related("b"), related("a")}, nil, "a < a (same name)", ""},
		{"what is written wins", []Vertex{related("a", makes("/a")), related("b", makes("/a/b"), modules.NeedsParent("/a/b"))},
			[]Edge{written(1, 0, 1)}, "b < a (require)", "a < b (parent directory)"},
		{"a guess gives way", []Vertex{
			related("a", makes("/a"), needs("/b", modules.There, "strong")),
			related("b", makes("/b"), modules.Relation{Verb: modules.Needs, Thing: modules.PathOf("/a"), Weak: true, Why: "weak"}),
		}, nil, "b < a (strong)", "a < b (weak)"},
		{"the others of a circle stay", []Vertex{
			related("a", makes("/a"), needs("/c", modules.There, "x")), related("b", makes("/b"), needs("/a", modules.There, "x")),
			related("c", makes("/c"), needs("/b", modules.There, "x")),
		}, nil, "c < a (x)\na < b (x)", "b < c (x)"},
	} {
		t.Run(test.name, func(t *testing.T) {
			g, err := New(test.vertices, test.edges)
			require.NoError(t, err)
			require.Equal(t, test.want, shown(g, g.Edges))
			require.Equal(t, test.dropped, shown(g, g.Dropped))
		})
	}
}

func TestTooManyAutomaticEdges(t *testing.T) {
	var all []Vertex
	for i := range 1100 {
		all = append(all, related(fmt.Sprint("maker", i), makes(fmt.Sprint("/etc/apt/", i))), related(fmt.Sprint("package", i), needs("/etc/apt", modules.Within, "repository")))
	}
	_, err := New(all, nil)
	require.EqualError(t, err, "more than 1000000 automatic edges (dependencies that ccm-push adds); write autoedge: false at resources that many other resources would wait for")
}

// random makes vertices with relations, some within others, and edges between them,
// which close no circle if acyclic is set.
func random(r *rand.Rand, acyclic bool) ([]Vertex, []Edge) {
	n := 1 + r.IntN(30)
	vertices := make([]Vertex, n)
	path := func() string {
		p := ""
		for range 1 + r.IntN(3) {
			p += "/" + string(rune('a'+r.IntN(3)))
		}
		return p
	}
	for i := range vertices {
		v := &vertices[i]
		*v = Vertex{Ref: fmt.Sprint("r", i), Within: -1}
		if r.IntN(3) == 0 {
			v.Batch = string(rune('x' + r.IntN(2)))
		}
		for range r.IntN(4) {
			thing := modules.PathOf(path())
			v.Relations = append(v.Relations, modules.Relation{
				Verb: modules.Verb(1 + r.IntN(6)), Thing: thing, Reach: modules.Reach(r.IntN(3)), Weak: r.IntN(2) == 0, Why: "x",
			})
		}
	}
	// A vertex is within a vertex that comes right after it and its other contents.
	for i := n - 1; i >= 0; {
		size := r.IntN(5)
		if r.IntN(4) == 0 && i-size >= 0 {
			vertices[i].Relations, vertices[i].Batch = nil, ""
			for j := i - size; j < i; j++ {
				vertices[j].Within = i
			}
			i -= size
		}
		i--
	}
	var edges []Edge
	for range r.IntN(n) {
		from, to := r.IntN(n), r.IntN(n)
		if acyclic && from > to {
			from, to = to, from
		}
		if from != to {
			edges = append(edges, written(from, to, 1))
		}
	}
	return vertices, edges
}

// Laws of every graph: the order contains all vertices, respects every edge, and keeps the contents of a vertex
// together, right before it.
func TestOrderRespectsEveryEdge(t *testing.T) {
	seeds := uint64(3000)
	if testing.Short() {
		seeds /= 10
	}
	for seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 7))
		vertices, edges := random(r, seed%4 != 0)
		g, err := New(vertices, edges)
		var circle *CircleError
		if errors.As(err, &circle) && seed%4 == 0 {
			continue
		}
		require.NoError(t, err, seed)
		sorted := slices.Sorted(slices.Values(g.Order))
		for i := range sorted {
			require.Equal(t, i, sorted[i], seed)
		}
		rank := g.ranks()
		for _, e := range g.Edges {
			require.Less(t, rank[e.From], rank[e.To], "%d: %s", seed, shown(g, []Edge{e}))
		}
		for i := range vertices {
			if w := vertices[i].Within; w >= 0 {
				size := 0
				for j := range vertices {
					if vertices[j].Within == w {
						size++
					}
				}
				require.Less(t, rank[i], rank[w], seed)
				require.GreaterOrEqual(t, rank[i], rank[w]-size, seed)
			}
		}
		for _, e := range edges { // nothing that is written is lost
			if g.Vertices[e.From].Within != e.To && g.Vertices[e.To].Within != e.From {
				require.Less(t, rank[e.From], rank[e.To], seed)
			}
		}
	}
}

// TestEdgesDoNotDependOnTheOrderWritten checks that the edges are the same for any written order of the resources,
// except edges that only keep two apart.
func TestEdgesDoNotDependOnTheOrderWritten(t *testing.T) {
	seeds := uint64(2000)
	if testing.Short() {
		seeds /= 10
	}
	for seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 9))
		vertices, edges := random(r, true)
		for i := range vertices {
			vertices[i].Within = -1
		}
		g, err := New(vertices, edges)
		require.NoError(t, err)
		at := r.Perm(len(vertices))
		shuffled, moved := make([]Vertex, len(vertices)), slices.Clone(edges)
		for i := range vertices {
			shuffled[at[i]] = vertices[i]
		}
		for i := range moved {
			moved[i].From, moved[i].To = at[moved[i].From], at[moved[i].To]
		}
		r.Shuffle(len(moved), func(i, j int) { moved[i], moved[j] = moved[j], moved[i] })
		again, err := New(shuffled, moved)
		require.NoError(t, err)
		require.Equal(t, lines(g), lines(again), seed)
	}
}

func lines(g *Graph) [2][]string {
	of := func(edges []Edge) []string {
		edges = slices.DeleteFunc(slices.Clone(edges), func(e Edge) bool { return e.Kind == Turn })
		all := strings.Split(shown(g, edges), "\n")
		slices.Sort(all)
		return all
	}
	return [2][]string{of(g.Edges), of(g.Dropped)}
}

// Every edge that is dropped would have closed a circle.
func TestOnlyWhatClosesACircleIsDropped(t *testing.T) {
	dropped := 0
	for seed := range uint64(2000) {
		vertices, edges := random(rand.New(rand.NewPCG(seed, 11)), true)
		g, err := New(vertices, edges)
		require.NoError(t, err)
		b := newBuilder(vertices)
		b.explicit(g.Edges[:len(g.Edges)-turns(g)])
		all := &search{builder: b, of: make([]int, len(vertices)), been: make([]int, len(vertices)), remaining: maxSteps}
		for _, e := range g.Dropped {
			a, z, ok := b.lift(e.From, e.To)
			require.True(t, ok)
			require.True(t, all.reaches(z, a), seed)
			dropped++
		}
	}
	require.Greater(t, dropped, 100)
}

func turns(g *Graph) int {
	n := 0
	for _, e := range g.Edges {
		if e.Kind == Turn {
			n++
		}
	}
	return n
}

// As many groups are made as there are packages on the longest route: none could do
// with fewer.
func TestBatchesStandTogether(t *testing.T) {
	for seed := range uint64(500) {
		vertices, edges := random(rand.New(rand.NewPCG(seed, 13)), true)
		for i := range vertices {
			vertices[i].Within, vertices[i].Relations = -1, nil
			if vertices[i].Batch != "" {
				vertices[i].Batch = "package"
			}
		}
		g, err := New(vertices, edges)
		require.NoError(t, err)
		groups, longest := 0, 0
		b := newBuilder(vertices)
		b.explicit(edges)
		members := make([]int, len(vertices))
		for i := range members {
			members[i] = i
		}
		for _, rank := range b.ranks(members) {
			longest = max(longest, rank)
		}
		last := ""
		depth := map[int]bool{}
		ranks := b.ranks(members)
		for _, i := range g.Order {
			if now := vertices[i].Batch; now != "" && (last == "" || !depth[ranks[i]]) {
				groups++
				depth = map[int]bool{ranks[i]: true}
			}
			last = vertices[i].Batch
		}
		require.Equal(t, longest, groups, seed)
	}
}

// site is a host with n resources, most of them files with their directories,
// owners and services.
func site(n int) []Vertex {
	var all []Vertex
	account := func(kind modules.ThingKind, i int) modules.Thing {
		return modules.Thing{Kind: kind, Key: fmt.Sprint("app", i)}
	}
	for i := 0; len(all) < n; i++ {
		dir := fmt.Sprint("/srv/app", i)
		all = append(all,
			related(fmt.Sprint("package#app", i), append(modules.PackageRelations(fmt.Sprint("app", i), false), makes(dir+"/bin"))...),
			related(fmt.Sprint("service#app", i), modules.ServiceRelations(fmt.Sprint("app", i))...),
			related(fmt.Sprint("user#app", i), modules.Relation{Verb: modules.Makes, Thing: account(modules.ThingUser, i)}, modules.Rewrites("accounts")),
			related("file#"+dir, makes(dir), modules.NeedsParent(dir)))
		for k := range 16 {
			p := fmt.Sprintf("%s/%d", dir, k)
			relations := append(modules.NeedsOwner(fmt.Sprint("app", i), fmt.Sprint("app", i)), makes(p), modules.NeedsParent(p))
			all = append(all, related("file#"+p, append(relations, modules.NeedsPackageOf(p)...)...))
		}
	}
	for i := range 5 {
		all = append(all, related(fmt.Sprint("file#list", i), makes(fmt.Sprint("/etc/apt/sources.list.d/", i))))
	}
	return all
}

func BenchmarkNew(b *testing.B) {
	for _, n := range []int{2_000, 20_000, 80_000} {
		vertices := site(n)
		r := rand.New(rand.NewPCG(1, 1))
		r.Shuffle(len(vertices), func(i, j int) { vertices[i], vertices[j] = vertices[j], vertices[i] })
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				if _, err := New(vertices, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// Whatever else is between two resources, in whatever order it is found: a refresh is
// not lost.
func TestTheStrongestKindCounts(t *testing.T) {
	kinds := []Kind{Require, Receive, Subscribe}
	for _, first := range kinds {
		for _, second := range kinds {
			one, other := written(0, 1, 1), written(0, 1, 2)
			one.Kind, other.Kind = first, second
			g, err := New(flat("a", "b"), []Edge{one, other})
			require.NoError(t, err)
			require.Len(t, g.Edges, 1)
			want := Require
			for _, kind := range []Kind{Receive, Subscribe} {
				if first == kind || second == kind {
					want = kind
				}
			}
			require.Equal(t, want, g.Edges[0].Kind, "%d and %d", first, second)
		}
	}
}
