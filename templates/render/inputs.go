package render

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Inputs are the parts of an environment that a text can read. Two hosts with equal inputs
// get the same result, so that it need not be made twice.
type Inputs struct {
	facts, data []string // paths, sorted
	host        []string // paths below the inventory's values of the host, sorted
	templates   []string // files of called templates, sorted
	shared      []string // roots that all hosts of a play see alike, sorted
	allFacts    bool
	allData     bool
	allHost     bool
	others      []string // paths below the facts of other hosts, sorted
	allOthers   bool
	results     []string // paths below the results of the host, sorted
	allResults  bool
	environ     bool
	item, outer bool
	itemPaths   []string // sorted
	allItem     bool
	outerPaths  []string // sorted
	allOuter    bool
	Volatile    bool // a clock or chance may have a say in the result
	ordered     bool // the order of keys may have one
	NATS        []NATSCall
	FilePaths   []FilePath // arguments of file()
}

// Inputs returns all values that can be read, also by called templates. files may be nil.
func (m *Reads) Inputs(files *Files) Inputs {
	if files == nil && len(m.Calls) > 0 {
		return Inputs{Volatile: true, allResults: true, NATS: m.NATS}
	}
	total := m.Follow(files)
	var called []string
	m.eachCalled(files, func(call *Call, _ *Reads, _ error) {
		total.Volatile = total.Volatile || call.volatile()
		if call.file != "" {
			called = append(called, call.file)
		}
	})
	var shared []string
	for _, root := range sharedRoots() {
		if total.Roots[root] {
			shared = append(shared, root)
		}
	}
	return Inputs{
		templates:  distinct(called),
		facts:      distinct(total.facts),
		data:       distinct(total.data),
		host:       distinct(total.host),
		shared:     distinct(shared),
		allFacts:   total.allFacts,
		allData:    total.allData,
		allHost:    total.allHost,
		others:     distinct(total.others),
		allOthers:  total.allOthers,
		results:    distinct(total.results),
		allResults: total.allResults,
		environ:    total.Roots[EnvironRoot],
		item:       total.Roots[ItemRoot],
		outer:      total.Roots[OuterRoot],
		itemPaths:  distinct(total.item),
		allItem:    total.allItem,
		outerPaths: distinct(total.outer),
		allOuter:   total.allOuter,
		Volatile:   total.Volatile,
		ordered:    total.Ordered,
		NATS:       total.NATS,
		FilePaths:  total.Files,
	}
}

// distinct sorts paths, each once.
func distinct(list []string) []string {
	list = slices.Clone(list)
	slices.Sort(list)
	return slices.Compact(list)
}

// Add adds the inputs of something else.
func (in *Inputs) Add(more Inputs) {
	in.facts, in.data = distinct(append(in.facts, more.facts...)), distinct(append(in.data, more.data...))
	in.host, in.shared = distinct(append(in.host, more.host...)), distinct(append(in.shared, more.shared...))
	in.templates = distinct(append(in.templates, more.templates...))
	in.allFacts, in.allData, in.allHost = in.allFacts || more.allFacts, in.allData || more.allData, in.allHost || more.allHost
	in.others, in.allOthers = distinct(append(in.others, more.others...)), in.allOthers || more.allOthers
	in.results, in.allResults = distinct(append(in.results, more.results...)), in.allResults || more.allResults
	in.itemPaths, in.allItem = distinct(append(in.itemPaths, more.itemPaths...)), in.allItem || more.allItem
	in.outerPaths, in.allOuter = distinct(append(in.outerPaths, more.outerPaths...)), in.allOuter || more.allOuter
	in.environ, in.NATS = in.environ || more.environ, append(in.NATS, more.NATS...)
	in.FilePaths = append(in.FilePaths, more.FilePaths...)
	in.ordered = in.ordered || more.ordered
	in.item, in.outer, in.Volatile = in.item || more.item, in.outer || more.outer, in.Volatile || more.Volatile
}

// Anything adds everything.
func (in *Inputs) Anything() {
	in.allFacts, in.allData, in.allHost, in.allOthers, in.allResults, in.item, in.allItem, in.outer, in.allOuter = true, true, true, true, true, true, true, true, true
	in.shared, in.environ = distinct(sharedRoots()), true
}

// Reads reports whether a root is among the inputs that is the same for all hosts of a play:
// Environ, Groups, Hosts, Play or Run.
func (in Inputs) Reads(root string) bool {
	return root == EnvironRoot && in.environ || slices.Contains(in.shared, root)
}

// Facts returns the paths of the facts among the inputs, like [Reads.Result].
func (in Inputs) Facts() (paths []string, all bool) {
	if in.allFacts {
		return nil, true
	}
	return in.facts, false
}

// Data returns the paths of the data among the inputs, like [Inputs.Facts].
func (in Inputs) Data() (paths []string, all bool) {
	if in.allData {
		return nil, true
	}
	return in.data, false
}

// OtherFacts returns the paths of the facts of other hosts among the inputs, like [Inputs.Facts].
func (in Inputs) OtherFacts() (paths []string, all bool) {
	if in.allOthers {
		return nil, true
	}
	return in.others, false
}

// Results returns the paths of the results of the host among the inputs, like [Inputs.Facts].
func (in Inputs) Results() (paths []string, all bool) {
	if in.allResults {
		return nil, true
	}
	return in.results, false
}

// NamedResults returns the paths that a Jinja text reads in the data, or in the results if one has that name, like
// [Inputs.Facts].
func (in Inputs) NamedResults() (paths []string, all bool) {
	if !in.ordered {
		return nil, false
	}
	return in.Data()
}

// Item reports whether the element of an each is among the inputs.
func (in Inputs) Item() bool { return in.item }

// OuterPaths returns the paths in the element of the surrounding each, like [Inputs.Facts].
func (in Inputs) OuterPaths() (paths []string, all bool) {
	if in.allOuter {
		return nil, true
	}
	return in.outerPaths, false
}

// Host returns the paths below the inventory's values of the host, like [Inputs.Facts].
func (in Inputs) Host() (paths []string, all bool) {
	if in.allHost {
		return nil, true
	}
	return in.host, false
}

// OtherHosts reports whether the inputs include the inventory's values of all hosts.
func (in Inputs) OtherHosts() bool { return slices.Contains(in.shared, HostsRoot) }

// ItemPaths returns the paths in the item, like [Inputs.Facts].
func (in Inputs) ItemPaths() (paths []string, all bool) {
	if in.allItem {
		return nil, true
	}
	return in.itemPaths, false
}

// Templates returns the files of called templates.
func (in Inputs) Templates() []string { return in.templates }

// ReadsData reports whether the inputs include the value at a path of the data, or a value above or below it.
func (in Inputs) ReadsData(path string) bool {
	return in.allData || slices.ContainsFunc(in.data, func(read string) bool {
		return strings.HasPrefix(read+".", path+".") || strings.HasPrefix(path+".", read+".")
	})
}

// Key identifies one set of values of the inputs, as bytes; a SHA-256 replaces long content. Environ is not in it,
// since it is the same for all hosts of a run. ok is false if equal inputs may have different results.
func (in Inputs) Key(env *Env) (key string, ok bool) {
	if in.Volatile {
		return "", false
	}
	const usual = 96 // bytes
	p := inputHash{env: env, buf: make([]byte, 1, usual)}
	p.part(env.Facts, env.Facts != nil, in.facts, in.allFacts)
	p.in(DataRoot, in.ordered)
	p.part(env.Data, env.Data != nil, in.data, in.allData)
	if in.item {
		p.in(ItemRoot, in.ordered)
		p.bool(env.HasItem)
		p.value(env.Item)
	}
	if in.outer {
		p.in(OuterRoot, in.ordered)
		p.bool(env.HasOuter)
		p.value(env.Outer)
	}
	p.in("", false)
	if in.allHost || len(in.host) > 0 {
		host, there := env.Root(HostRoot)
		values, _ := host.(map[string]any)
		p.part(values, there, in.host, in.allHost)
	}
	if in.allResults || len(in.results) > 0 {
		results, there := env.Root(ResultsRoot)
		values, _ := results.(map[string]any)
		p.part(values, there, in.results, in.allResults)
	}
	if in.ordered && (in.allData || len(in.data) > 0) {
		if results, there := env.Root(ResultsRoot); there {
			p.namedResults(in, results.(map[string]any))
		}
	}
	for _, root := range in.shared {
		var number uint64
		if lazy := env.Inventory.root(root); lazy != nil {
			number = lazy.number
		}
		p.number('r', number)
	}
	if p.strange {
		return "", false
	}
	p.room(0)
	return string(p.buf), true
}

// An inputHash writes values. Each is written so that no two different values look the same.
type inputHash struct {
	env     *Env
	buf     []byte // a byte that reports whether there are hashes, and the data written since the last one
	strange bool   // a value is not plain

	ordered bool     // keys are written in their order
	root    string   // where the current value is; known only if ordered
	path    []string // below root
}

const (
	// plainKey is the maximum length of a key without a hash, in bytes.
	plainKey = 256
	// hashedKey is the first byte of a key that begins with a hash of all data before it.
	hashedKey = 1
)

// in sets where the next values are.
func (p *inputHash) in(root string, ordered bool) { p.root, p.ordered = root, ordered }

// below writes the value at a key or an index.
func (p *inputHash) below(key string, v any) {
	p.path = append(p.path, key)
	p.value(v)
	p.path = p.path[:len(p.path)-1]
}

// part writes the values at paths below a root, or all of it.
func (p *inputHash) part(root map[string]any, there bool, paths []string, all bool) {
	p.bool(there)
	if all {
		p.value(root)
		return
	}
	for _, path := range paths {
		value, depth, found := deepestValue(p.env, root, path)
		p.number('p', uint64(depth))
		p.bool(found)
		if p.ordered {
			p.path = strings.SplitN(path, ".", depth+1)[:depth]
		}
		p.value(value)
		p.path = p.path[:0]
	}
}

// namedResults writes the results that a Jinja text reads by their names alone.
func (p *inputHash) namedResults(in Inputs, results map[string]any) {
	for _, name := range SortedKeys(results) {
		if in.ReadsData(name) {
			p.text('k', name)
			p.value(results[name])
		}
	}
}

// deepestValue returns the value at a path, or the last value on the way to it that is not a map: the rest of the path
// may have a meaning in a list. depth is the number of keys that led there.
func deepestValue(env *Env, root map[string]any, path string) (value any, depth int, found bool) {
	value = root
	for key := range strings.SplitSeq(path, ".") {
		m, ok := value.(map[string]any)
		if !ok {
			return value, depth, true
		}
		if value, ok = env.Key(m, key); !ok {
			// Perhaps a key has dots in it, or is a gjson query: then all of it counts.
			return m, depth, false
		}
		depth++
	}
	return value, depth, true
}

func (p *inputHash) number(kind byte, n uint64) {
	p.room(9)
	p.buf = binary.BigEndian.AppendUint64(append(p.buf, kind), n)
}

// room replaces the written data by its hash, unless there is room for n more bytes.
func (p *inputHash) room(n int) {
	if len(p.buf)+n <= plainKey {
		return
	}
	sum := sha256.Sum256(p.buf)
	p.buf = append(append(p.buf[:0], hashedKey), sum[:]...)
}

func (p *inputHash) bool(b bool) {
	if b {
		p.number('b', 1)
	} else {
		p.number('b', 0)
	}
}

func (p *inputHash) text(kind byte, s string) {
	p.number(kind, uint64(len(s)))
	p.room(len(s))
	p.buf = append(p.buf, s...)
}

func (p *inputHash) value(v any) {
	switch v := v.(type) {
	case nil:
		p.number('n', 0)
	case bool:
		p.bool(v)
	case string:
		p.text('s', v)
	case int:
		p.number('i', uint64(v))
	case int64:
		p.number('i', uint64(v))
	case float64:
		p.number('f', math.Float64bits(v))
	case []any:
		p.number('l', uint64(len(v)))
		for i, item := range v {
			if p.ordered && isContainer(item) {
				p.below(strconv.Itoa(i), item)
			} else {
				p.value(item)
			}
		}
	case map[string]any:
		p.number('m', uint64(len(v)))
		keys := SortedKeys(v)
		if p.ordered {
			keys = KeysOf(p.env, v, p.root, p.path)
		}
		for _, key := range keys {
			p.text('k', key)
			p.below(key, v[key])
		}
	default:
		p.strange = true
	}
}
