package render

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"math"
	"slices"
	"strings"
)

// Inputs are the parts of an environment that a text can read. Two hosts with equal inputs
// get the same result, so that it need not be made twice.
type Inputs struct {
	facts, data []string // paths, sorted
	allFacts    bool
	allData     bool
	item        bool
	Volatile    bool // a clock or chance may have a say in the result
}

// Inputs is what can be read, also by the templates that are called; files may be nil.
func (m *Reads) Inputs(files *Files) Inputs {
	if files == nil && len(m.Calls) > 0 {
		return Inputs{Volatile: true}
	}
	total := m.Follow(files)
	m.eachCalled(files, func(call *Call, _ *Reads, _ error) {
		total.Volatile = total.Volatile || call.volatile()
	})
	return Inputs{
		facts:    distinct(total.facts),
		data:     distinct(total.data),
		allFacts: total.allFacts,
		allData:  total.allData,
		item:     total.Roots[ItemRoot],
		Volatile: total.Volatile,
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
	in.allFacts, in.allData = in.allFacts || more.allFacts, in.allData || more.allData
	in.item, in.Volatile = in.item || more.item, in.Volatile || more.Volatile
}

// Anything adds everything.
func (in *Inputs) Anything() { in.allFacts, in.allData, in.item = true, true, true }

// Facts gives the paths of the facts among the inputs, as [Reads.Result] does.
func (in Inputs) Facts() (paths []string, all bool) {
	if in.allFacts {
		return nil, true
	}
	return in.facts, false
}

// ReadsData reports whether what lies at a path of the data, above it or below it is
// among the inputs.
func (in Inputs) ReadsData(path string) bool {
	return in.allData || slices.ContainsFunc(in.data, func(read string) bool {
		return strings.HasPrefix(read+".", path+".") || strings.HasPrefix(path+".", read+".")
	})
}

// Key tells one set of values of the inputs from any other: a SHA-256 over them.
// Environ is not in it, since it is the same for all hosts of a run. ok is false
// where equal inputs need not give equal results.
func (in Inputs) Key(env *Env) (key string, ok bool) {
	if in.Volatile {
		return "", false
	}
	p := inputHash{env: env, hash: sha256.New()}
	p.part(env.Facts, env.Facts != nil, in.facts, in.allFacts)
	p.part(env.Data, env.Data != nil, in.data, in.allData)
	if in.item {
		p.bool(env.HasItem)
		p.value(env.Item)
	}
	if p.strange {
		return "", false
	}
	return string(p.hash.Sum(nil)), true
}

// An inputHash hashes values. Each is written so that no two different values look the
// same.
type inputHash struct {
	env     *Env
	hash    hash.Hash
	buf     []byte
	strange bool // a value is not plain
}

// part writes what lies at paths below a root, or all of it.
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
		p.value(value)
	}
}

// deepestValue gives what lies at a path, or the last thing on the way to it that is
// no map: the rest of the path may mean something in a list. depth is how many keys
// led there.
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
	p.buf = binary.BigEndian.AppendUint64(append(p.buf[:0], kind), n)
	p.hash.Write(p.buf)
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
	p.buf = append(p.buf[:0], s...)
	p.hash.Write(p.buf)
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
		for _, item := range v {
			p.value(item)
		}
	case map[string]any:
		p.number('m', uint64(len(v)))
		for _, key := range SortedKeys(v) {
			p.text('k', key)
			p.value(v[key])
		}
	default:
		p.strange = true
	}
}
