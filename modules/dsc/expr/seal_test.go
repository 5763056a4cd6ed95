package expr

// Seal gives all properties of a resource as they travel, and its condition if that
// remains for the host. The scope is nil if nothing is.
func Seal(properties map[string]any, condition Part) (map[string]any, *Scope, error) {
	if condition.rest == nil && !HasParts(properties) {
		return Wrapped(properties).(map[string]any), nil, nil
	}
	s := NewSealer()
	out := s.seal(properties).(map[string]any)
	s.Condition(condition)
	return out, s.scope, s.err
}
