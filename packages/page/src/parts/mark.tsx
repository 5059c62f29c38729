/** The mark: a gate that lets a part of a stream through. */
export function Mark() {
  return (
    <svg class="mark" viewBox="0 0 24 24" width="24" height="24" aria-hidden="true">
      <rect x="2" y="3" width="20" height="18" rx="4" fill="currentColor" opacity=".14" />
      <path
        d="M2 9c3-2 5 2 8 0M14 15c3-2 5 2 8 0"
        fill="none"
        stroke="currentColor"
        stroke-width="2"
        stroke-linecap="round"
      />
      <path d="M12 3v18" stroke="currentColor" stroke-width="2.5" stroke-linecap="round" />
    </svg>
  );
}
