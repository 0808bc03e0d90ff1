<?php
/**
 * WordPress 6.9 and later: an ability that proposes. It goes the same way as
 * the form and calls nothing, so that an agent inside WordPress gets around no
 * policy of the gateway. It is not public and not in REST.
 *
 * @package Interlock_Bridge
 */

defined( 'ABSPATH' ) || exit;

/**
 * Registers the category.
 */
function interlock_bridge_register_ability_category(): void {
	if ( ! function_exists( 'wp_register_ability_category' ) ) {
		return;
	}
	wp_register_ability_category(
		'interlock',
		array(
			'label'       => __( 'Interlock', 'interlock-bridge' ),
			'description' => __( 'What the Interlock gateway can do for this site.', 'interlock-bridge' ),
		)
	);
}

/**
 * Registers the ability.
 */
function interlock_bridge_register_ability(): void {
	if ( ! function_exists( 'wp_register_ability' ) ) {
		return;
	}
	wp_register_ability(
		'interlock/resolve',
		array(
			'label'               => __( 'Ask what an instruction means', 'interlock-bridge' ),
			'description'         => __( 'Sends an instruction to the Interlock gateway and returns the call that it proposes, or why it proposes none. Nothing is called.', 'interlock-bridge' ),
			'category'            => 'interlock',
			'input_schema'        => array(
				'type'                 => 'object',
				'properties'           => array(
					'instruction' => array(
						'type'      => 'string',
						'minLength' => 1,
						'maxLength' => INTERLOCK_BRIDGE_MAX_INSTRUCTION,
					),
				),
				'required'             => array( 'instruction' ),
				'additionalProperties' => false,
			),
			'output_schema'       => array(
				'type'       => 'object',
				'properties' => array(
					'status'  => array(
						'type' => 'string',
						'enum' => array( 'resolved', 'no_matching_tool', 'not_permitted' ),
					),
					'reason'  => array( 'type' => 'string' ),
					'message' => array( 'type' => 'string' ),
					'abn'     => array( 'type' => 'string' ),
				),
				'required'   => array( 'status' ),
			),
			'permission_callback' => 'interlock_bridge_may_resolve',
			'execute_callback'    => 'interlock_bridge_execute_resolve',
			'meta'                => array(
				'annotations'  => array(
					'readonly'    => true,
					'destructive' => false,
					'idempotent'  => true,
				),
				'show_in_rest' => false,
				'public'       => false,
			),
		)
	);
}

/**
 * Only administrators.
 */
function interlock_bridge_may_resolve(): bool {
	return current_user_can( 'manage_options' );
}

/**
 * Proposes.
 *
 * @param array $input Its instruction.
 * @return array|WP_Error
 */
function interlock_bridge_execute_resolve( array $input ) {
	$proposal = interlock_bridge_propose( sanitize_textarea_field( $input['instruction'] ) );
	if ( is_wp_error( $proposal ) ) {
		return new WP_Error( $proposal->get_error_code(), interlock_bridge_error_message( $proposal ) );
	}
	$output = array( 'status' => $proposal['status'] );
	if ( 'resolved' === $proposal['status'] ) {
		$output['abn'] = $proposal['arguments']['abn'];
		return $output;
	}
	$output['reason']  = $proposal['reason'];
	$output['message'] = 'not_permitted' === $proposal['status'] ? interlock_bridge_permit_message( $proposal['reason'] ) : interlock_bridge_reason_message( $proposal['reason'] );
	return $output;
}
