package gotemplate

import (
	"reflect"

	"github.com/ccm-push/ccm-push/templates/diag"
	"github.com/ccm-push/ccm-push/templates/render"
)

const (
	// maxElements bounds the lists that functions make.
	maxElements = 1 << 20
	// maxNesting is the maximum depth of a value that is written or copied.
	maxNesting = 1000
	// bytesPerStep is the amount of text that counts as one step.
	bytesPerStep = 64
)

// sizes returns the number of steps needed to visit values once.
func sizes(values []any) (n int) {
	for _, v := range values {
		switch v := v.(type) {
		case nil, bool, int, int64, float64:
		case string:
			n += len(v) / bytesPerStep
		case []any:
			n += len(v)
		case map[string]any:
			n += len(v)
		default:
			switch rv := reflect.ValueOf(v); rv.Kind() {
			case reflect.Slice, reflect.Array, reflect.Map:
				n += rv.Len()
			}
		}
	}
	return n
}

// A weigher estimates how long the text of a value is before it is written
// or copied: values can share parts, so that a small one is endless on paper.
type weigher struct {
	name   string // name of the function
	indent int    // spaces a line of the text has per level
	weight int
}

// weigh returns an error if the values are too long or nested too deep together. The work counts as steps.
func (g *goRun) weigh(name string, indent int, values ...any) error {
	w := &weigher{name: name, indent: indent}
	for _, v := range values {
		if err := w.add(reflect.ValueOf(v), 0); err != nil {
			return err
		}
	}
	return g.AddSteps(w.weight / bytesPerStep)
}

func (w *weigher) add(v reflect.Value, depth int) error {
	for v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	w.weight += 1 + depth*w.indent
	if v.Kind() == reflect.String {
		w.weight += v.Len()
	}
	switch {
	case w.weight > render.MaxOutput:
		return render.TooLong(w.name)
	case depth > maxNesting:
		return diag.Faultf("%s: the value is nested more than %d levels deep", w.name, maxNesting)
	}
	switch v.Kind() {
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			if err := w.add(v.Index(i), depth+1); err != nil {
				return err
			}
		}
	case reflect.Map:
		for it := v.MapRange(); it.Next(); {
			if err := w.add(it.Key(), depth+1); err != nil {
				return err
			}
			if err := w.add(it.Value(), depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// cloned returns a copy of a value whose maps and lists are the template's own.
func cloned(v any) any {
	switch v := v.(type) {
	case map[string]any:
		m := make(map[string]any, len(v))
		for key, value := range v {
			m[key] = cloned(value)
		}
		return m
	case []any:
		list := make([]any, len(v))
		for i, value := range v {
			list[i] = cloned(value)
		}
		return list
	}
	return v
}

// boundedCount returns an error if a function would make more elements than it may.
func boundedCount(name string, n int) error {
	if n > maxElements {
		return diag.Faultf("%s: more than %d elements", name, maxElements)
	}
	return nil
}

// sameMap reports whether v is the map m itself.
func sameMap(v any, m map[string]any) bool {
	other, ok := v.(map[string]any)
	return ok && reflect.ValueOf(other).Pointer() == reflect.ValueOf(m).Pointer()
}
