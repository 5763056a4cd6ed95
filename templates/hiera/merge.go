package hiera

import "maps"

// DeepMerge lays over on top of base: maps are merged key by key, lists are
// concatenated with those of base first, and anything else of over replaces what
// base has, null and values of another type too. Neither is changed; the result
// shares what was not merged.
func DeepMerge(base, over map[string]any) map[string]any {
	merged := make(map[string]any, len(base)+len(over))
	maps.Copy(merged, base)
	for key, value := range over {
		merged[key] = mergeValue(merged[key], value)
	}
	return merged
}

func mergeValue(base, over any) any {
	switch over := over.(type) {
	case map[string]any:
		if base, ok := base.(map[string]any); ok {
			return DeepMerge(base, over)
		}
	case []any:
		if base, ok := base.([]any); ok {
			list := make([]any, 0, len(base)+len(over))
			return append(append(list, base...), over...)
		}
	}
	return over
}
