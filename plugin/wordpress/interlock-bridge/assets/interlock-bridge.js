/* Shows that the form is on its way and holds a second click back. Without it
 * the form works too: a form sent twice is one call. */
( function () {
	'use strict';
	var form = document.getElementById( 'interlock-bridge-form' );
	if ( ! form ) {
		return;
	}
	var waiting = form.querySelector( '.interlock-bridge-waiting' );
	function show( busy ) {
		form.classList.toggle( 'is-busy', busy );
		form.querySelector( '.spinner' ).classList.toggle( 'is-active', busy );
		waiting.textContent = busy ? waiting.dataset.text : '';
	}
	form.addEventListener( 'submit', function ( event ) {
		if ( form.classList.contains( 'is-busy' ) ) {
			event.preventDefault();
			return;
		}
		show( true );
	} );
	// A page that comes back out of the browser's cache waits for nothing.
	window.addEventListener( 'pageshow', function () {
		show( false );
	} );
}() );
